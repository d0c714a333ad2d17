import { setTimeout as sleep } from 'node:timers/promises';
import { diskBlobs } from '@mayfly/testing/blobs';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { type Shape, startShape, untilReady } from '@mayfly/testing/shapes';
import { noShiftedClock, shiftedClock } from '@mayfly/testing/shifted-clock';
import { noSmallDisk, smallDisk } from '@mayfly/testing/small-disk';
import { freshDatabase, freshFolder, freshRedis } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { certainUploads, leftOver, letTimePass, lookAt, type Site, watchStored } from './afterwards.ts';
import { checkHistory, type Operation, type Violation } from './checker.ts';
import { Clients } from './clients.ts';
import { Faults, WIDE } from './faults.ts';
import { History } from './history.ts';
import { Random } from './random.ts';

export type Plan = {
  shape: Exclude<Shape, 'deployed'>;
  seed: number;
  /** So many, or so long, but not before some of them have succeeded. */
  operations?: number;
  minutes?: number;
  /** Done when all is quiet, before it is looked at: a test's own fault, which has to be found on uploads of which no answer is missing. */
  sabotage?: (site: Site, uploads: string[]) => Promise<void>;
};
export type Report = {
  operations: Operation[];
  faults: Map<string, number>;
  violations: Violation[];
};

const MIB = 1024 * 1024;
/** For all uploads, in bytes. The second one is reached. */
const CEILINGS = { all: [10_240 * MIB, 4 * MIB], split: [10_240 * MIB, 80 * MIB] };
/** S3 stores take no smaller parts. */
const PART_BYTES = { all: 65_536, split: 5 * MIB };
const SETTINGS = {
  NOTES_MAX_BYTES: '10GiB',
  REQUESTS_STORAGE_MAX_BYTES: '10GiB',
  VIEW_REPEAT_SEC: '120',
  STORAGE_MIN_FREE_BYTES: '0', // what fills the disk is not always seen to come
  UPLOAD_SESSIONS_MAX: '0',
  UPLOAD_QUOTA_BYTES: '0',
};
/** What succeeds at the least, however busy the machine is. */
const FEW = 60;
/** Enough for each fault of a test's own, although some are used up by then. */
const SABOTAGED = 12;
const WELL_WITHIN_MS = 60_000;

/** Faults that cannot be made here, and why. */
export const NOT_HERE = [
  ...(noSmallDisk ? [`no full disks: ${noSmallDisk}`] : []),
  ...(noShiftedClock ? [`no clocks that are wrong: ${noShiftedClock}`] : []),
];

/**
 * Clients work while faults come and go; then all is mended, time passes, two sweeps and more go by, and what clients were told is
 * compared with what there is. Throws when the service does not say that it is well again, or what is over is not swept.
 */
export async function runHistory({ shape, seed, operations, minutes = 0, sabotage }: Plan): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const [database, redis] = [stack.use(await freshDatabase({ hasTables: true })), stack.use(await freshRedis())];
  const toDatabase = stack.use(await openFaultProxy(database.url));
  const toRedis = stack.use(await openFaultProxy(redis.url));
  const clocks = stack.use(await freshFolder());
  const disk = shape === 'all' && !noSmallDisk ? smallDisk(WIDE) : undefined;
  const ceiling = CEILINGS[shape][seed % 2] ?? 0;
  const settings = {
    ...SETTINGS,
    STORAGE_MAX_BYTES: String(ceiling),
    UPLOAD_PART_BYTES_MIN: String(PART_BYTES[shape]),
    DATABASE_URL: toDatabase.url,
    REDIS_URL: toRedis.url,
  };
  let started = 0;
  const running = stack.use(
    await startShape(shape, settings, {
      ...(disk && { openBlobs: () => diskBlobs(disk) }),
      nextClock: () => (noShiftedClock ? undefined : shiftedClock(clocks.path, String(started++))),
    }),
  );
  const ways = {
    PostgreSQL: toDatabase,
    Redis: toRedis,
    ...('proxy' in running.blobs ? { S3: running.blobs.proxy as typeof toRedis } : {}),
  };
  const site = { databaseUrl: database.url, blobs: running.blobs };

  const history = new History();
  const clients = new Clients(running.baseUrls, { seed, partBytes: PART_BYTES[shape], history });
  const faults = new Faults({ processes: running.processes, ways, disk }, new Random(seed - 1));
  const watch = watchStored(site);
  const breaking = faults.go();
  breaking.catch(() => {}); // told when it is waited for
  const end = Date.now() + minutes * 60_000;
  const hasFew = () => history.operations.filter(({ outcome }) => outcome === 'succeeded').length < FEW;
  await clients.work((begun) => (operations === undefined ? Date.now() < end || hasFew() : begun < operations));
  faults.stop();
  await breaking;
  const mostStored = await watch.end();

  for (const process of running.processes) await untilReady(process);
  const isWell = async (url: string) => (await fetch(`${url}/api/health`)).status === 200;
  await untilTrue(async () => (await Promise.all(running.baseUrls.map(isWell))).every(Boolean), WELL_WITHIN_MS);
  if (sabotage) await clients.workUndisturbed(SABOTAGED);
  await sleep(1_000); // what was on its way when its client left
  await letTimePass(site);
  await untilTrue(async () => (await leftOver(site)).length === 0, WELL_WITHIN_MS).catch(() => {}); // the check says what
  await sabotage?.(site, await certainUploads(site, history));
  const afterwards = await lookAt(site, history);
  const bytesOverCeiling = mostStored - ceiling;
  const violations = checkHistory(history.operations, { ...afterwards, bytesOverCeiling });
  return { operations: history.operations, faults: faults.counts, violations };
}
