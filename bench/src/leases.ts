import { randomBytes } from 'node:crypto';
import { cpuSeconds } from '@mayfly/testing/proc';
import type { BenchArguments } from './arguments.ts';
import { Connection, type Request } from './connection.ts';
import { median, sendAll } from './load.ts';
import { AUTH_TOKEN, createUpload, get, limitsOf, remove } from './messages.ts';
import { atMost, type Report } from './report.ts';
import { startAll, startStores } from './service.ts';
import { columns } from './table.ts';

const KIB = 1024;
const SIZES = { '64 KiB': 64 * KIB, '1 MiB': 1024 * KIB };
const UPLOADS = 100;
const CONNECTIONS = 8;

/** A download as it is, one that is counted by its lease, and one that ends it as clients do. */
const WAYS = ['plain', 'lease', 'lease, ended'] as const;
type Way = (typeof WAYS)[number];
type Turn = { seconds: number; cpuSec: number };

/** What a download under a lease costs one process beside a plain one of the same payload, in turns. */
export async function measureLeases(
  stack: AsyncDisposableStack,
  folder: string,
  { rounds, isQuick }: BenchArguments,
): Promise<Report> {
  const target = await startAll(stack, await startStores(stack, folder));
  const pids = [...Object.values(target.processes), ...Object.values(target.stores ?? {})];
  const limits = await limitsOf(target.url);
  const each = isQuick ? 4 : 50;

  async function turn(ids: string[], way: Way): Promise<Turn> {
    const open = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(target.url)));
    const cpuBefore = cpuSeconds(pids);
    const start = performance.now();
    await Promise.all(
      open.map(async (connection, number) => {
        for (let count = 0; count < each; count += 1) {
          const index = number * each + count;
          for (const request of requests(ids[index % ids.length] ?? '', index, way)) {
            const { status } = await connection.exchange(request);
            if (status !== 200) throw new Error(`the service answered ${status}`);
          }
        }
      }),
    );
    const taken = { seconds: (performance.now() - start) / 1000, cpuSec: cpuSeconds(pids) - cpuBefore };
    for (const connection of open) connection.close();
    return taken;
  }

  const rows: string[][] = [];
  const figures: object[] = [];
  const verdicts: Report['verdicts'] = [];
  for (const [size, sizeBytes] of Object.entries(SIZES)) {
    const turns = new Map(WAYS.map((way) => [way, [] as Turn[]]));
    for (let round = 0; round <= rounds; round += 1) {
      // Anew in each round: what is downloaded must not be used up.
      const chunk = Buffer.alloc(sizeBytes, 'sealed bytes, as random as it takes ');
      const uploads = Array.from({ length: UPLOADS }, (_, index) => createUpload(index, limits, chunk, sizeBytes));
      const ids = (await sendAll(target.url, uploads)).map(({ text }) => String(JSON.parse(text).id));
      for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
        const taken = await turn(ids, way);
        if (round > 0 || isQuick) turns.get(way)?.push(taken); // the first round warms everything
      }
    }
    const plain = turns.get('plain') ?? [];
    for (const way of WAYS) {
      const own = turns.get(way) ?? [];
      const ratio = (figure: (turn: Turn) => number) =>
        median(own.map((taken, index) => figure(taken) / figure(plain[index] ?? taken)));
      const [time, cpu] = [ratio(({ seconds }) => seconds), ratio(({ cpuSec }) => cpuSec)];
      const perThousand = (median(own.map(({ cpuSec }) => cpuSec)) / (CONNECTIONS * each)) * 1_000;
      figures.push({ size, way, cpuPerThousand: perThousand, time, cpu });
      rows.push([size, way, perThousand.toFixed(2), cpu.toFixed(2), time.toFixed(2)]);
      if (way !== 'plain')
        verdicts.push(atMost(`${size}: CPU of a download with a ${way}`, cpu, 1.1, 'of a plain one'));
    }
  }
  return {
    text: columns([['payload', 'download', 'CPU s/1,000', 'CPU of plain', 'time of plain'], ...rows]),
    figures,
    verdicts,
  };
}

function requests(id: string, index: number, way: Way): Request[] {
  const token = { 'X-Auth-Token': AUTH_TOKEN };
  if (way === 'plain') return [get(`/api/download/${id}`, index, token)];
  const headers = { ...token, 'X-Download-Lease': randomBytes(32).toString('base64url') };
  const download = get(`/api/lease/${id}`, index, headers);
  return way === 'lease' ? [download] : [download, remove(`/api/lease/${id}?whole=true`, index, headers)];
}
