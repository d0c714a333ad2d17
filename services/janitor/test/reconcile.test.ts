import { randomBytes, randomUUID } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshDatabase, freshFolder, testS3Settings } from '@mayfly/local-stores/testing';
import type { BlobStore } from '@mayfly/store/blobs';
import { openDiskBlobs } from '@mayfly/store/disk/blobs';
import { type Database, migrate, openDatabase } from '@mayfly/store/postgres/database';
import { openS3Blobs } from '@mayfly/store/s3/blobs';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openSweep } from '../src/open-sweep.ts';
import { reconcile } from '../src/reconcile.ts';
import { sweep } from '../src/sweep.ts';

const logger = pino({ level: 'silent' });
const stack = new AsyncDisposableStack();
let db: Database;

beforeAll(async () => {
  const database = stack.use(await freshDatabase());
  db = stack.adopt(openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 5 }, logger), (open) =>
    open.destroy(),
  );
  await migrate(db);
});
afterAll(() => stack.disposeAsync());

const config = { TOMBSTONE_TTL_SEC: 3600, RECONCILE_GRACE_SEC: 3600 };
async function* bytes() {
  yield Buffer.from('payload');
}
const store = (blobs: BlobStore, id: string) => blobs.put(id, bytes(), 7, new AbortController().signal);

describe.each(['disk', 'S3'])('reconcile (%s)', (kind) => {
  let blobs: BlobStore & AsyncDisposable;
  let deps: ReturnType<typeof openSweep>;
  let folder = '';

  beforeEach(async () => {
    await db.deleteFrom('files.uploads').execute();
    await db.deleteFrom('files.blob_deletions').execute();
    folder = stack.use(await freshFolder()).path;
    blobs = stack.use(kind === 'disk' ? await openDiskBlobs(folder) : await openS3Blobs(testS3Settings(), logger));
    deps = { ...openSweep(db, blobs, config), graceSec: -60 }; // everything is old enough
  });

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

  test('the blob of a tombstone is an orphan', async () => {
    const id = await upload();
    await deps.uploads.retireLost([id], 3600);
    expect(await reconcile(deps)).toMatchObject({ orphans: 1 });
  });

  test('an upload whose blob is lost becomes a tombstone: 410, not 503 for ever', async () => {
    const [kept, lost] = [await upload(), await upload()];
    await blobs.delete([lost]);
    expect(await reconcile(deps, { isDryRun: true })).toMatchObject({ lost: 1 });
    expect((await deps.uploads.find(lost))?.status).toBe('available');
    expect(await reconcile(deps)).toMatchObject({ lost: 1, outcome: 'mended' });
    expect((await deps.uploads.find(lost))?.status).toBe('expired');
    expect((await deps.uploads.find(kept))?.status).toBe('available');
  });

  test('a store that has nothing of what the database knows is refused: it is the wrong one', async () => {
    await manyRows(150);
    const refused = await reconcile(deps);
    expect(refused).toMatchObject({ uploads: 150, lost: 150, outcome: 'refused' });
    expect(await countOf('available')).toBe(150);
    expect(await reconcile(deps, { isForced: true })).toMatchObject({ lost: 150, outcome: 'mended' });
    expect(await countOf('available')).toBe(0);
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
      partials: 0,
      outcome: 'mended',
    });
    expect(await countOf('expired')).toBe(without.size);
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

  const countOf = async (state: 'available' | 'expired') =>
    (await db.selectFrom('files.uploads').select('id').where('state', '=', state).execute()).length;
});
