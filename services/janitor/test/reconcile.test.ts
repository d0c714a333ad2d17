import { randomBytes, randomUUID } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '@mayfly/store/blobs';
import { openDiskBlobs } from '@mayfly/store/disk/blobs';
import { type PairedBlobs, pairedBlobs } from '@mayfly/store/paired-blobs';
import { type Database, openDatabase } from '@mayfly/store/postgres/database';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';
import { postgresUploadSessions } from '@mayfly/store/postgres/upload-sessions';
import { openS3Blobs } from '@mayfly/store/s3/blobs';
import { freshDatabase, freshFolder, testS3Settings } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cleanupDeps } from '../src/cleanup-deps.ts';
import { reconcile } from '../src/reconcile.ts';
import { sweep } from '../src/sweep.ts';

const logger = pino({ level: 'silent' });
const stack = new AsyncDisposableStack();
let db: Database;

beforeAll(async () => {
  const database = stack.use(await freshDatabase({ hasTables: true }));
  db = stack.use(openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 5 }, logger));
});
afterAll(() => stack.disposeAsync());

const config = { TOMBSTONE_TTL_SEC: 3600, RECONCILE_GRACE_SEC: 3600 };
async function* bytes() {
  yield Buffer.from('payload');
}
const store = (blobs: BlobStore, id: string) => blobs.put(id, bytes(), 7, new AbortController().signal);

describe.each(['disk', 'S3'])('reconcile (%s)', (kind) => {
  let blobs: PairedBlobs & AsyncDisposable;
  let deps: ReturnType<typeof cleanupDeps>;
  let place: ReturnType<typeof openDiskBlobs>;
  let folder = '';

  beforeEach(async () => {
    await db.deleteFrom('files.uploads').execute();
    await db.deleteFrom('files.blob_deletions').execute();
    await db.deleteFrom('files.blob_store').execute();
    folder = stack.use(await freshFolder()).path;
    blobs = stack.use(await openStore());
    deps = { ...cleanupDeps(db, blobs, config), graceSec: -60 }; // everything is old enough
  });

  /** The store of the test, or another one, as a process opens it. */
  async function openStore(path = folder, settings = kind === 'S3' ? testS3Settings() : undefined) {
    place = settings ? openS3Blobs(settings) : openDiskBlobs(path);
    return pairedBlobs(place, postgresStoreRecord(db), logger);
  }

  /** An available upload with its blob. */
  async function upload(id = randomUUID()) {
    await deps.uploads.begin(
      {
        id,
        authHash: randomBytes(32),
        ownerHash: randomBytes(32),
        salt: 'c2FsdA',
        sizeBytes: 7,
        fileCount: 1,
        maxDownloads: 1,
        expireSec: 3600,
      },
      60,
    );
    await store(blobs, id);
    await deps.uploads.publish(id);
    return id;
  }
  const listed = async () => {
    const ids: string[] = [];
    for await (const page of blobs.list()) ids.push(...page.map(({ id }) => id));
    return ids;
  };

  test('what belongs together is left alone', async () => {
    const ids = [await upload(), await upload()].sort();
    const pending = await upload();
    await db.updateTable('files.uploads').set({ state: 'pending' }).where('id', '=', pending).execute();
    expect(await reconcile(deps)).toEqual({
      blobs: 3,
      uploads: 2,
      orphans: 0,
      lost: 0,
      stillLost: 0,
      found: 0,
      partials: 0,
      outcome: 'mended',
    });
    expect(await listed()).toEqual([...ids, pending].sort());
  });

  test('a blob that belongs to no upload is counted by a dry run, and deleted by the sweep after a real one', async () => {
    const kept = await upload();
    const orphan = randomUUID();
    await store(blobs, orphan);
    expect(await reconcile(deps, { isDryRun: true })).toMatchObject({ orphans: 1, outcome: 'counted' });
    await sweep(deps);
    expect((await listed()).length).toBe(2);
    expect(await reconcile(deps)).toMatchObject({ orphans: 1, outcome: 'mended' });
    await sweep(deps);
    expect(await listed()).toEqual([kept]);
  });

  test('a young one may be on its way and is left alone', async () => {
    await store(blobs, randomUUID());
    expect(await reconcile({ ...deps, graceSec: 3600 })).toMatchObject({ orphans: 0 });
    await sweep(deps);
    expect((await listed()).length).toBe(1);
  });

  test('what is still coming in parts is left alone, however old, and its blob before it is published as well', async () => {
    const [id, part] = [randomUUID(), randomBytes(1_000)];
    const storeRef = await blobs.parts.begin(id);
    const tokens = { authHash: randomBytes(32), ownerHash: randomBytes(32), salt: 'c2FsdA' };
    const sessions = postgresUploadSessions(db);
    await sessions.begin(
      { id, ...tokens, sizeBytes: 1_000, fileCount: 1, maxDownloads: 1, expireSec: 60 },
      { storeRef, partBytes: 1_000, isExact: true, isAnnounced: false, sessionSec: 60 },
    );
    const put = async () => {
      const tag = await blobs.parts.put(
        { id, storeRef, number: 1 },
        [part] as never,
        1_000,
        new AbortController().signal,
      );
      return { number: 1, bytes: 1_000, tag };
    };
    await sessions.record(id, await put());
    expect(await reconcile(deps)).toMatchObject({ partials: 0, orphans: 0 });
    await sweep(deps);
    const stored = await put();
    await sessions.record(id, stored);
    await sessions.seal(id, 1_000);
    await blobs.parts.complete(id, storeRef, [stored]);
    expect(await reconcile(deps)).toMatchObject({ orphans: 0 });
    await sweep(deps);
    await sessions.publish(id, 1_000);
    expect(await listed()).toEqual([id]);
  });

  test('the blob of a tombstone is an orphan', async () => {
    const id = await upload();
    await db.updateTable('files.uploads').set({ state: 'expired' }).where('id', '=', id).execute();
    expect(await reconcile(deps)).toMatchObject({ orphans: 1 });
  });

  test('an upload whose blob is lost counts as expired: 410, not 503 for ever', async () => {
    const [kept, lost] = [await upload(), await upload()];
    await blobs.delete([lost]);
    expect(await reconcile(deps, { isDryRun: true })).toMatchObject({ lost: 1 });
    expect((await deps.uploads.find(lost))?.status).toBe('available');
    expect(await reconcile(deps)).toMatchObject({ lost: 1, outcome: 'mended' });
    expect((await deps.uploads.find(lost))?.status).toBe('expired');
    expect((await deps.uploads.find(kept))?.status).toBe('available');
    expect(await deps.uploads.claimDownload(lost, 60)).toBe(0);
    expect(await reconcile(deps)).toMatchObject({ lost: 0, stillLost: 1, outcome: 'mended' });
  });

  test('a lost blob that is there again makes its upload what it was', async () => {
    const [kept, lost] = [await upload(), await upload()];
    const before = await deps.uploads.find(lost);
    await blobs.delete([lost]);
    await reconcile(deps);
    await store(blobs, lost);
    expect(await reconcile(deps, { isDryRun: true })).toMatchObject({ found: 1, orphans: 0, outcome: 'counted' });
    expect(await reconcile(deps)).toMatchObject({ found: 1, lost: 0, stillLost: 0, outcome: 'mended' });
    expect(await deps.uploads.find(lost)).toEqual(before);
    await sweep(deps);
    expect(await listed()).toEqual([kept, lost].sort());
  });

  test('a lost upload is retired at its own time, as every other', async () => {
    const [, lost] = [await upload(), await upload()];
    await blobs.delete([lost]);
    await reconcile(deps);
    await store(blobs, lost); // it was never lost, only out of sight
    await sweep(deps);
    expect(await listed()).toContain(lost);
    await db
      .updateTable('files.uploads')
      .set({ due_at: new Date(0), expires_at: new Date(0) })
      .where('id', '=', lost)
      .execute();
    expect(await sweep(deps)).toMatchObject({ uploadsRetired: 1, blobsDeleted: 1 });
    expect(await listed()).not.toContain(lost);
  });

  test('a store that misses most of what should be there is refused, however little that is', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => upload()));
    await blobs.delete(ids.slice(0, 5));
    expect(await reconcile(deps)).toMatchObject({ uploads: 8, lost: 5, outcome: 'refused' });
    expect(await countLost()).toBe(0);
    expect(await reconcile(deps, { isForced: true })).toMatchObject({ lost: 5, outcome: 'mended' });
    expect(await reconcile(deps)).toMatchObject({ lost: 0, stillLost: 5, outcome: 'mended' });
  });

  test.each(['empty', 'another database’s', 'not there'])(
    'a store that is %s is refused, even when forced',
    async (which) => {
      const ids = await Promise.all([upload(), upload()]);
      const elsewhere = join(stack.use(await freshFolder()).path, 'blobs');
      const other = await openStore(elsewhere);
      stack.use(other);
      if (which !== 'not there') await place.create();
      if (which === 'another database’s') await place.mark(randomUUID());
      for (const options of [{}, { isForced: true }, { isDryRun: true }]) {
        const result = await reconcile({ ...deps, blobs: other }, options);
        expect(result).toMatchObject({ lost: 0, outcome: 'refused', problem: expect.stringContaining('blob store') });
      }
      expect(await countLost()).toBe(0);
      await expect(store(other, randomUUID())).rejects.toThrow('blob store');
      await expect(other.check()).rejects.toThrow('blob store');
      expect(await other.delete(ids)).toEqual(ids);
      expect(await place.exists()).toBe(which !== 'not there');
    },
  );

  test('a store that an operator adopts is the database’s from then on', async () => {
    await Promise.all([upload(), upload()]);
    const other = stack.use(await openStore(join(stack.use(await freshFolder()).path, 'blobs')));
    expect(await other.adopt(false)).toEqual({ sampled: 2, found: 0, isAdopted: false });
    expect(await place.exists()).toBe(false);
    expect(await other.adopt(true)).toEqual({ sampled: 2, found: 0, isAdopted: true });
    await store(other, randomUUID());
    expect(await reconcile({ ...deps, blobs: other })).toMatchObject({ lost: 2, outcome: 'mended' });
  });

  describe('a database of the version before, with uploads and without a marker', () => {
    const forgetMarker = async () => {
      for (const id of await place.markers()) await place.unmark(id);
      await db.deleteFrom('files.blob_store').execute();
    };

    test('takes a store that has what it should have', async () => {
      await Promise.all([upload(), upload(), upload()]);
      await forgetMarker();
      const again = await pairedBlobs(place, postgresStoreRecord(db), logger);
      await again.assertPaired();
      expect(await place.markers()).toHaveLength(1);
    });

    test('goes on with one that does not, deletes nothing there, and refuses comparisons', async () => {
      const ids = await Promise.all([upload(), upload(), upload()]);
      await blobs.delete(ids.slice(1));
      await forgetMarker();
      const again = await pairedBlobs(place, postgresStoreRecord(db), logger);
      await store(again, randomUUID());
      await again.check();
      expect(await again.delete(ids)).toEqual(ids);
      const refused = await reconcile({ ...deps, blobs: again });
      expect(refused).toMatchObject({ outcome: 'refused', problem: expect.stringContaining('adopt-store') });
      expect(await again.adopt(true)).toMatchObject({ isAdopted: true });
      expect(await reconcile({ ...deps, blobs: again })).toMatchObject({ outcome: 'mended' });
    });
  });

  test('processes that meet an empty database and an empty store at the same time agree on one marker', async () => {
    await db.deleteFrom('files.blob_store').execute();
    for (const id of await place.markers()) await place.unmark(id);
    const all = await Promise.all([1, 2, 3, 4].map(() => pairedBlobs(place, postgresStoreRecord(db), logger)));
    for (const one of all) await one.assertPaired();
    expect(await place.markers()).toHaveLength(1);
  });

  test('a process whose look at the database is older than its look at the store takes nobody else for a stranger', async () => {
    await db.deleteFrom('files.blob_store').execute();
    for (const id of await place.markers()) await place.unmark(id);
    const record = postgresStoreRecord(db);
    const slow = {
      ...place,
      async create() {
        await place.create();
        await pairedBlobs(place, record, logger); // another process, which is quicker
      },
    };
    const complaints: unknown[] = [];
    const listening = pino({ level: 'warn' }, { write: (line: string) => complaints.push(line) });
    await (await pairedBlobs(slow, record, listening)).check();
    expect(complaints).toEqual([]);
  });

  test('a store that has nothing of what the database knows is refused, marker or not', async () => {
    await manyRows(150);
    const refused = await reconcile(deps);
    expect(refused).toMatchObject({ uploads: 150, lost: 150, outcome: 'refused' });
    expect(await countLost()).toBe(0);
    expect(await reconcile(deps, { isForced: true })).toMatchObject({ lost: 150, outcome: 'mended' });
    expect(await countLost()).toBe(150);
  });

  test('a database that knows nothing of what the store has is refused, too', async () => {
    for (let i = 0; i < 101; i++) await store(blobs, randomUUID());
    expect(await reconcile(deps)).toMatchObject({ blobs: 101, orphans: 101, outcome: 'refused' });
    await sweep(deps);
    expect((await listed()).length).toBe(101);
  });

  test.skipIf(kind !== 'disk')(
    'what is half written and old is removed (a disk only: S3 keeps nothing half)',
    async () => {
      const partial = join(folder, `${randomUUID()}.bin.part`);
      const young = join(folder, `${randomUUID()}.bin.part`);
      for (const path of [partial, young]) await writeFile(path, 'half');
      await utimes(partial, 1, 1);
      expect(await reconcile({ ...deps, graceSec: 3600 }, { isDryRun: true })).toMatchObject({ partials: 1 });
      expect(await reconcile({ ...deps, graceSec: 3600 })).toMatchObject({ partials: 1 });
      expect(await reconcile({ ...deps, graceSec: 3600 })).toMatchObject({ partials: 0 });
    },
  );

  test.skipIf(kind !== 'disk')('thousands on both sides are compared page by page (on a disk, for speed)', async () => {
    const ids = await manyRows(3_500);
    const without = new Set(ids.filter((_, i) => i % 100 === 7));
    for (const id of ids) if (!without.has(id)) await writeFile(join(folder, `${id}.bin`), 'payload');
    const orphans = Array.from({ length: 40 }, () => randomUUID());
    for (const id of orphans) await store(blobs, id);
    expect(await reconcile(deps)).toEqual({
      blobs: 3_500 - without.size + 40,
      uploads: 3_500,
      orphans: 40,
      lost: without.size,
      stillLost: 0,
      found: 0,
      partials: 0,
      outcome: 'mended',
    });
    expect(await countLost()).toBe(without.size);
    await sweep(deps);
    expect(await listed()).toEqual(ids.filter((id) => !without.has(id)).sort());
  });

  async function manyRows(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => randomUUID());
    const now = new Date(Date.now() - 60_000);
    const rows = ids.map((id) => ({
      id,
      state: 'available' as const,
      owner_hash: randomBytes(32),
      auth_hash: randomBytes(32),
      salt: 'c2FsdA',
      size: 7,
      file_count: 1,
      has_password: false,
      max_downloads: 1,
      created_at: now,
      expires_at: new Date(Date.now() + 3_600_000),
      due_at: new Date(Date.now() + 3_600_000),
    }));
    for (let i = 0; i < rows.length; i += 1000) {
      await db
        .insertInto('files.uploads')
        .values(rows.slice(i, i + 1000))
        .execute();
    }
    return ids;
  }

  const countLost = async () =>
    (await db.selectFrom('files.uploads').select('id').where('lost_at', 'is not', null).execute()).length;
});
