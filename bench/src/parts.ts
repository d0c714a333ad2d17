import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { cpuSeconds, forgetPeak, peakMemoryBytes } from '@mayfly/testing/proc';
import type { BenchArguments } from './arguments.ts';
import { median } from './load.ts';
import { atLeast, atMost, type Report } from './report.ts';
import type { Sent } from './sender.ts';
import { startSplit, startStores } from './service.ts';
import { columns } from './table.ts';

const MIB = 2 ** 20;
const QUICK_MIB = 24;

/** How a file is sent: in one piece, or in parts over so many connections. */
const WAYS = { post: undefined, 'parts-1': 1, 'parts-4': 4 } as const;
type Way = keyof typeof WAYS;
const ALL_WAYS = Object.keys(WAYS) as Way[]; // its own keys

type Turn = Sent & { serviceCpuSec: number; peakBytesOf: Record<string, number> };

/**
 * The same file sent by the client library in one piece and in parts, in turns, to gateway, files and notes with blobs in
 * MinIO where there is one. With `namespace` the sender is in that network namespace, where the service is `address`.
 */
export async function measureParts(
  stack: AsyncDisposableStack,
  folder: string,
  { isQuick, mebibytes, rounds, namespace, address }: BenchArguments,
): Promise<Report> {
  const stores = await startStores(stack, folder, true);
  const settings = { HOST: address, UPLOAD_QUOTA_BYTES: '0', MAX_FILE_SIZE: '5GiB' };
  const [target] = await startSplit(stack, { ...stores, env: { ...stores.env, ...settings } });
  if (!target) throw new Error('one replica was asked for');
  const { url, processes } = target;
  const sizeMiB = isQuick ? QUICK_MIB : mebibytes;
  const path = join(folder, 'file.bin');
  await pipeline(function* () {
    for (let index = 0; index < sizeMiB; index += 1) yield Buffer.alloc(MIB, `block ${index}`);
  }, createWriteStream(path));

  async function send(way: Way): Promise<Turn> {
    const pids = [...Object.values(processes), ...Object.values(target?.stores ?? {})];
    const before = cpuSeconds(pids);
    for (const pid of Object.values(processes)) forgetPeak(pid);
    const sender = [process.execPath, join(import.meta.dirname, 'sender.ts'), url, path, String(WAYS[way] ?? '')];
    const [program = '', ...args] = namespace ? ['ip', 'netns', 'exec', namespace, ...sender] : sender;
    const { stdout } = await promisify(execFile)(program, args.filter(Boolean));
    const sent: Sent = JSON.parse(stdout);
    const peaks = Object.entries(processes).map(([name, pid]) => [name, peakMemoryBytes(pid)]);
    return { ...sent, serviceCpuSec: cpuSeconds(pids) - before, peakBytesOf: Object.fromEntries(peaks) };
  }

  const turns = Object.fromEntries(ALL_WAYS.map((way) => [way, []])) as unknown as Record<Way, Turn[]>; // one list each
  for (let round = namespace ? 1 : 0; round <= rounds; round += 1) {
    for (const way of round % 2 === 0 ? ALL_WAYS : ALL_WAYS.toReversed()) {
      const turn = await send(way);
      if (round > 0 || isQuick) turns[way].push(turn); // the first round warms everything; a slow network leaves nothing to warm
      console.log(`round ${round} of ${rounds}: ${way} ${(sizeMiB / turn.seconds).toFixed(1)} MiB/s`);
    }
  }
  const gigabytes = (sizeMiB * MIB) / 1e9;
  const figures = ALL_WAYS.map((way) => {
    const middle = (figure: (turn: Turn) => number) => median(turns[way].map(figure));
    return {
      way,
      mebibytesPerSec: middle(({ seconds }) => sizeMiB / seconds),
      serviceCpuPerGigabyte: middle(({ serviceCpuSec }) => serviceCpuSec / gigabytes),
      senderCpuPerGigabyte: middle(({ cpuSec }) => cpuSec / gigabytes),
      senderPeakMegabytes: middle(({ peakBytes }) => peakBytes / 1e6),
      gatewayPeakMegabytes: middle(({ peakBytesOf }) => (peakBytesOf.gateway ?? 0) / 1e6),
      filesPeakMegabytes: middle(({ peakBytesOf }) => (peakBytesOf.files ?? 0) / 1e6),
    };
  });
  /** Of the medians of pairs: what the machine does meanwhile meets both. */
  const ratio = (figure: (turn: Turn) => number, way: Way, beside: Way) =>
    median(turns[way].map((turn, index) => figure(turn) / figure(turns[beside][index] ?? turn)));
  const speed = ({ seconds }: Turn) => 1 / seconds;
  const headings = ['way', 'MiB/s', 'CPU s/GB: service', 'sender', 'peak MB: sender', 'gateway', 'files'];
  return {
    text: columns([
      headings,
      ...figures.map(({ way, ...rest }) => [way, ...Object.values(rest).map((n) => n.toFixed(1))]),
    ]),
    figures: { sizeMiB, ways: figures },
    verdicts: [
      atLeast('parts-4: speed of post,', ratio(speed, 'parts-4', 'post'), namespace ? 3 : 0.9),
      ...(namespace
        ? [atLeast('parts-4: speed of parts-1,', ratio(speed, 'parts-4', 'parts-1'), 3)]
        : [
            atMost(
              'parts-4: CPU of sender and service per GB,',
              ratio((turn) => turn.cpuSec + turn.serviceCpuSec, 'parts-4', 'post'),
              1.1,
              'of post',
            ),
            atMost(
              'parts-4: CPU of the service alone,',
              ratio((turn) => turn.serviceCpuSec, 'parts-4', 'post'),
              1.1,
              'of post',
            ),
          ]),
    ],
  };
}
