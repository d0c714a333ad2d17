import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { cpuSeconds, forgetPeak, peakMemoryBytes } from '@mayfly/testing/proc';
import type { BenchArguments } from './arguments.ts';
import { median, sendAll } from './load.ts';
import { beginParts, cancelParts, createUpload, limitsOf, sendPart } from './messages.ts';
import { atLeast, atMost, type Report } from './report.ts';
import type { Sent } from './sender.ts';
import { startSplit, startStores } from './service.ts';
import { columns } from './table.ts';

const MIB = 2 ** 20;
const QUICK_MIB = 24;
/** V8 compiles what runs often only after thousands of requests, and a turn has no more than hundreds. */
const WARM_UP_REQUESTS = 2_000;
const WARM_UP_SESSIONS = 200;
const WARM_UP_BYTES = 1_024;

/** How a file is sent: in one piece, or in parts over so many connections. */
const WAYS = { post: undefined, 'parts-1': 1, 'parts-4': 4 } as const;
type Way = keyof typeof WAYS;
const ALL_WAYS = Object.keys(WAYS) as Way[]; // its own keys

/** Whose processor time is told apart. */
const EACH = ['gateway', 'files', 'minio', 'postgres', 'redis'];

type Turn = Sent & { serviceCpuSec: number; cpuSecOfEach: Record<string, number>; peakBytesOf: Record<string, number> };

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
  const settings = {
    HOST: address,
    UPLOAD_QUOTA_BYTES: '0',
    MAX_FILE_SIZE: '5GiB',
  };
  const [target] = await startSplit(stack, { ...stores, env: { ...stores.env, ...settings } });
  if (!target) throw new Error('one replica was asked for');
  const { url, processes } = target;
  const sizeMiB = isQuick ? QUICK_MIB : mebibytes;
  const path = join(folder, 'file.bin');
  await pipeline(function* () {
    for (let index = 0; index < sizeMiB; index += 1) yield Buffer.alloc(MIB, `block ${index}`);
  }, createWriteStream(path));

  const cpuSecOf = () =>
    Object.fromEntries(
      Object.entries({ ...processes, ...target.stores }).map(([name, pid]) => [name, cpuSeconds([pid])]),
    );

  async function send(way: Way): Promise<Turn> {
    const before = cpuSecOf();
    for (const pid of Object.values(processes)) forgetPeak(pid);
    const sender = [process.execPath, join(import.meta.dirname, 'sender.ts'), url, path, String(WAYS[way] ?? '')];
    const [program = '', ...args] = namespace ? ['ip', 'netns', 'exec', namespace, ...sender] : sender;
    const { stdout } = await promisify(execFile)(program, args.filter(Boolean));
    const sent: Sent = JSON.parse(stdout);
    const peaks = Object.entries(processes).map(([name, pid]) => [name, peakMemoryBytes(pid)]);
    const after = cpuSecOf();
    const cpuSecOfEach = Object.fromEntries(
      Object.keys(after).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
    );
    const serviceCpuSec = Object.values(cpuSecOfEach).reduce((sum, seconds) => sum + seconds, 0);
    return { ...sent, serviceCpuSec, cpuSecOfEach, peakBytesOf: Object.fromEntries(peaks) };
  }

  if (!isQuick) await warmUp(url);
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
      ...Object.fromEntries(
        EACH.map((name) => [name, middle(({ cpuSecOfEach }) => (cpuSecOfEach[name] ?? 0) / gigabytes)]),
      ),
    };
  });
  /** Of the medians of pairs: what the machine does meanwhile meets both. */
  const ratio = (figure: (turn: Turn) => number, way: Way, beside: Way) =>
    median(turns[way].map((turn, index) => figure(turn) / figure(turns[beside][index] ?? turn)));
  const speed = ({ seconds }: Turn) => 1 / seconds;
  const headings = [
    'way',
    'MiB/s',
    'CPU s/GB: service',
    'sender',
    'peak MB: sender',
    'gateway',
    'files',
    'CPU s/GB of gateway',
    ...EACH.slice(1),
  ];
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

/** As many requests of either way, with next to nothing in them. */
async function warmUp(url: string) {
  const limits = await limitsOf(url);
  const chunk = Buffer.alloc(WARM_UP_BYTES);
  const each = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index));
  await sendAll(
    url,
    each(WARM_UP_REQUESTS, (index) => createUpload(index, limits, chunk, chunk.length)),
  );
  const begun = await sendAll(
    url,
    each(WARM_UP_SESSIONS, (index) => beginParts(index, limits, chunk.length)),
  );
  const ids = begun.map(({ text }) => (JSON.parse(text) as { id: string }).id); // as the contract says
  await sendAll(
    url,
    each(WARM_UP_REQUESTS, (index) => sendPart(index, ids[index % ids.length] ?? '', 1, chunk)),
  );
  await sendAll(
    url,
    ids.map((id, index) => cancelParts(index, id)),
  );
}
