import { setTimeout as sleep } from 'node:timers/promises';
import { cleanupDeps, sweep } from '@mayfly/janitor';
import { loadConfig } from '@mayfly/shared/config';
import { blobSettings } from '@mayfly/shared/settings';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';
import { diskBlobs, s3Blobs, type TestBlobs } from '@mayfly/testing/blobs';
import { startReady } from '@mayfly/testing/shapes';
import { freshDatabase, freshRedis, query } from '@mayfly/testing/stores';
import { openTriggeringProxy } from '@mayfly/testing/triggering-proxy';
import { pino } from 'pino';

export type BlobKind = 'disk' | 'S3';

/** Stores, with a proxy before each that a test can watch, and the processes under test on them. */
export async function openCrashSite(kind: BlobKind) {
  await using undo = new AsyncDisposableStack();
  const database = undo.use(await freshDatabase({ hasTables: true }));
  const redis = undo.use(await freshRedis());
  const blobs = undo.use(await (kind === 'disk' ? diskBlobs() : s3Blobs()));
  const toDatabase = undo.use(await openTriggeringProxy(database.url));
  const { S3_ENDPOINT } = blobs.settings;
  const toBlobs = S3_ENDPOINT ? undo.use(await openTriggeringProxy(S3_ENDPOINT)) : undefined;
  const stores = { DATABASE_URL: toDatabase.url, REDIS_URL: redis.url, DATABASE_POOL_SIZE: '4', ...blobs.settings };
  const settings = { ...stores, ...(toBlobs ? { S3_ENDPOINT: `http://127.0.0.1:${toBlobs.port}` } : {}) };

  // The tests' own way to the stores, past the watched ones.
  const logger = pino({ level: 'silent' });
  const db = undo.use(openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 2 }, logger));
  const ownBlobs = undo.use(await openBlobs(loadConfig(blobSettings, blobs.settings), postgresStoreRecord(db), logger));
  const sweepDeps = cleanupDeps(db, ownBlobs, { TOMBSTONE_TTL_SEC: 3600, RECONCILE_GRACE_SEC: 3600 });

  const ask = (statement: string) => query<Record<string, string>>(database.url, statement);
  const idsOf = async (statement: string) => (await ask(statement)).map(({ id }) => String(id)).sort();

  const running = undo.move();
  return {
    kind,
    toDatabase,
    toBlobs,
    blobs,
    query: ask,
    sweep: () => sweep(sweepDeps),
    start: (name: 'files' | 'janitor') => startReady(running, name, settings),
    untilQuiet: () => untilQuiet(blobs),
    /** Leases end and what waits for another try is tried now, as if hours had passed; nothing else expires. */
    letTimePass: async () => {
      await ask(`update files.uploads set leased_until = now() - interval '1 second' where leased_until is not null`);
      await ask(`update files.uploads set due_at = now() - interval '1 second' where state = 'pending'`);
      await ask(`update files.blob_deletions set due_at = now() - interval '1 second'`);
    },
    /** What is wrong now, in words; empty when the invariants hold. */
    broken: async (): Promise<string[]> => {
      // In this order: a blob that comes between the two looks belongs to a row of the second.
      const stored = new Set((await blobs.names()).flatMap((name) => /^(.{36})\.bin/.exec(name)?.[1] ?? []));
      const available = await idsOf(`select id from files.uploads where state = 'available'`);
      const belonging = await idsOf(
        `select id from files.uploads where state in ('pending', 'available') union select id from files.blob_deletions`,
      );
      const over = await idsOf('select id from files.uploads where download_count > max_downloads');
      return [
        ...available.filter((id) => !stored.has(id)).map((id) => `the available upload ${id} has no blob`),
        ...[...stored].filter((id) => !belonging.includes(id)).map((id) => `the blob ${id} belongs nowhere`),
        ...over.map((id) => `the upload ${id} counts more than its limit`),
      ];
    },
    /** What is left besides the uploads that are available. */
    leftOver: async () => {
      const available = await idsOf(`select id from files.uploads where state = 'available'`);
      const stored = (await blobs.names()).sort();
      return {
        blobs: stored.filter((name) => !available.includes(name.slice(0, 36)) || name.length !== 40),
        pending: await idsOf(`select id from files.uploads where state = 'pending'`),
        deletions: await idsOf('select id from files.blob_deletions'),
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

export const NOTHING = { blobs: [], pending: [], deletions: [] };

/** A store may still put away what a killed process has sent; hours later it has. */
async function untilQuiet(blobs: TestBlobs) {
  let before = '';
  for (let tries = 0; tries < 60; tries += 1) {
    const now = (await blobs.names()).sort().join();
    if (now === before) return;
    before = now;
    await sleep(1_000);
  }
  throw new Error('the blob store does not come to rest');
}
