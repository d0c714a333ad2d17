import { setTimeout as sleep } from 'node:timers/promises';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { type RunningShape, type Shape, startShape, untilReady } from '@mayfly/testing/shapes';
import { freshDatabase, freshRedis, query } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { type Afterwards, checkHistory, type Operation, type Violation } from './checker.ts';
import { Clients, digestOf } from './clients.ts';
import { Faults } from './faults.ts';
import { Random } from './random.ts';

export type Plan = {
  shape: Exclude<Shape, 'deployed'>;
  seed: number;
  /** Whichever comes first. */
  operations?: number;
  minutes?: number;
  /** Done when all is quiet, before it is looked at: a test's own fault, which has to be found. */
  sabotage?: (site: Site, uploads: string[]) => Promise<void>;
};
export type Site = Pick<RunningShape, 'databaseUrl' | 'blobs'>;
export type Report = {
  operations: Operation[];
  faults: Map<string, number>;
  violations: Violation[];
};

/** Ceilings are counted; none is reached. */
const SETTINGS = { STORAGE_MAX_BYTES: '10GiB', NOTES_MAX_BYTES: '10GiB', VIEW_REPEAT_SEC: '120' };
const WELL_WITHIN_MS = 60_000;

/**
 * Clients work while faults come and go; then all is mended, time passes, two sweeps and more go by, and what clients were told is
 * compared with what there is. Throws when the service does not say that it is well again, or what is over is not swept.
 */
export async function runHistory({ shape, seed, operations, minutes, sabotage }: Plan): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const [database, redis] = [stack.use(await freshDatabase({ hasTables: true })), stack.use(await freshRedis())];
  const toDatabase = stack.use(await openFaultProxy(database.url));
  const toRedis = stack.use(await openFaultProxy(redis.url));
  const stores = { DATABASE_URL: toDatabase.url, REDIS_URL: toRedis.url };
  const running = stack.use(await startShape(shape, { ...SETTINGS, ...stores }));
  const ways = {
    PostgreSQL: toDatabase,
    Redis: toRedis,
    ...('proxy' in running.blobs ? { S3: running.blobs.proxy as typeof toRedis } : {}),
  };

  const clients = new Clients(running.baseUrls, seed);
  const faults = new Faults({ processes: running.processes, ways }, new Random(seed - 1));
  const breaking = faults.go();
  const timer = minutes === undefined ? undefined : setTimeout(() => clients.stop(), minutes * 60_000);
  await clients.work(operations);
  clearTimeout(timer);
  faults.stop();
  await breaking;

  for (const process of running.processes) await untilReady(process);
  const isWell = async (url: string) => (await fetch(`${url}/api/health`)).status === 200;
  await untilTrue(async () => (await Promise.all(running.baseUrls.map(isWell))).every(Boolean), WELL_WITHIN_MS);
  const site = { databaseUrl: database.url, blobs: running.blobs };
  await sleep(1_000); // what was on its way when its client left
  await letTimePass(site);
  await untilTrue(async () => (await leftOver(site)).length === 0, WELL_WITHIN_MS).catch(() => {}); // the check says what
  const uploads = await idsOf(site, `select id from files.uploads where state = 'available'`);
  await sabotage?.(site, uploads);
  const violations = checkHistory(clients.history, await lookAt(site, clients.labels));
  return { operations: clients.history, faults: faults.counts, violations };
}

const idsOf = async ({ databaseUrl }: Site, statement: string) =>
  (await query<{ id: string }>(databaseUrl, statement)).map(({ id }) => id);

/** Leases end, repeated views end, and what waits for another try is tried now, as if hours had passed; nothing else expires. */
async function letTimePass({ databaseUrl }: Site) {
  for (const statement of [
    `update files.uploads set leased_until = now() - interval '1 second' where leased_until is not null`,
    `update files.uploads set due_at = now() - interval '1 second' where state = 'pending'`,
    `update files.download_leases set ends_at = now() - interval '1 second', hard_ends_at = now() - interval '1 second'`,
    `update files.blob_deletions set due_at = now() - interval '1 second'`,
    `update notes.notes set repeatable_until = now(), due_at = now() where state = 'available' and view_count >= max_views`,
  ]) {
    await query(databaseUrl, statement);
  }
}

/** What should be over and is not. */
const leftOver = (site: Site) =>
  idsOf(
    site,
    `select id::text from files.uploads where state = 'pending' or (state = 'available' and download_count >= max_downloads)
     union all select 'deletion of ' || id from files.blob_deletions
     union all select 'lease of ' || upload_id from files.download_leases
     union all select id::text from notes.notes where state = 'available' and view_count >= max_views`,
  );

async function lookAt(site: Site, labels: Map<string, string>): Promise<Afterwards> {
  const rows = await query<{ id: string; owner: string; uses: number; content: string | null }>(
    site.databaseUrl,
    `select id, encode(owner_hash, 'hex') as owner, download_count as uses, null as content from files.uploads
     where state = 'available'
     union all
     select id, encode(owner_hash, 'hex'), view_count, encrypted_content from notes.notes where state = 'available'`,
  );
  const items: Afterwards['items'] = new Map();
  const labelOf = new Map<string, string>();
  for (const { id, owner, uses, content } of rows) {
    const label = labels.get(owner) ?? id;
    labelOf.set(id, label);
    const bytes = content ?? (await site.blobs.read(id).catch(() => 'nothing'));
    items.set(label, { uses, digest: digestOf(bytes) });
  }
  const [held] = await query<{ bytes: number }>(
    site.databaseUrl,
    'select (select bytes from files.storage) + (select bytes from notes.storage) as bytes',
  );
  const names = (await site.blobs.names()).map((name) => name.replace(/\.bin$/, ''));
  return {
    items,
    heldBytes: Number(held?.bytes),
    blobs: names.map((id) => labelOf.get(id) ?? id),
    leftOver: await leftOver(site),
  };
}
