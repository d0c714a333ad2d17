import { NoRoom } from '@mayfly/shared/errors';
import { sql } from 'kysely';
import { onceDone } from '../once-done.ts';
import type { NewUpload, Uploads } from '../uploads.ts';
import { batched, batchedClaims } from './batched.ts';
import { checkColumns } from './columns.ts';
import type { Database } from './database.ts';
import { apart, oneIdEach, those } from './distributed.ts';
import { isAvailable, status, uploadFinder } from './find-upload.ts';
import { noted, unnoted } from './noted.ts';
import type { UploadState } from './schema.ts';
import { countStored, HELD_BY_THE_DELETION, returned, UPLOADS, withinCeiling } from './storage.ts';
import { inSeconds } from './time.ts';
import { type UseTimes, unused, usedNow } from './use-times.ts';

/** In seconds: the difference of two times is days as well, and a day is not as long as another where clocks are changed. */
const LIFETIME = sql`extract(epoch from expires_at - created_at)`;

/** After so long a store has put away, or dropped, what it was sent. */
const LATE_BLOB_SEC = 60;

/** `maxBytes`: what all uploads together may hold; no ceiling without it. */
export function postgresUploads(
  db: Database,
  { maxBytes, ...useTimes }: { maxBytes?: number | undefined } & UseTimes = {},
): Uploads {
  /** With a ceiling, nothing is added before what is there already has been counted. */
  const whatIsStored = onceDone(() => countStored(db, UPLOADS));
  /** Deletes rows and queues their blobs for deletion, in one statement. The bytes stay held until the blob is deleted. */
  const removeWithBlob = async (id: string, states: UploadState[], retrySec = 0): Promise<boolean> => {
    const { rows } = await sql`
      with gone as (
        delete from files.uploads where id = ${id} and state = any(${states}) returning id, held_bytes, hooks
      ), ${unnoted('files.uploads', those([id]))}, queued as (
        insert into files.blob_deletions (id, due_at, held_bytes)
        select id, ${inSeconds(retrySec)}, held_bytes from gone ${HELD_BY_THE_DELETION}
      )
      select id from gone`.execute(db);
    return rows.length > 0;
  };

  const addAll = async (all: readonly (NewUpload & { leaseSec: number })[]): Promise<(undefined | NoRoom)[]> => {
    if (maxBytes !== undefined) await whatIsStored();
    const fresh = sql`
        select *, size as bytes, ${inSeconds(sql`lease_sec`)} as leased_until from unnest(
          ${all.map(({ id }) => id)}::uuid[],
          ${all.map(({ ownerHash }) => ownerHash)}::bytea[],
          ${all.map(({ authHash }) => authHash)}::bytea[],
          ${all.map(({ salt }) => salt)}::text[],
          ${all.map(({ sizeBytes }) => sizeBytes)}::bigint[],
          ${all.map(({ fileCount }) => fileCount)}::int[],
          ${all.map(({ password }) => password?.algo ?? null)}::text[],
          ${all.map(({ password }) => password?.salt ?? null)}::text[],
          ${all.map(({ maxDownloads }) => maxDownloads)}::int[],
          ${all.map(({ expireSec }) => expireSec)}::int[],
          ${all.map(({ leaseSec }) => leaseSec)}::int[]
        ) as given (id, owner_hash, auth_hash, salt, size, file_count, password_algo, password_salt, max_downloads,
          expire_sec, lease_sec)`;
    const wanted = all.map(({ sizeBytes }) => sizeBytes);
    const creation = { counter: UPLOADS.counter, maxBytes, wanted, fresh };
    const rows = await withinCeiling(creation, async (admitted) => {
      const inserted = await sql<{ id: string }>`
      with ${admitted}
      insert into files.uploads (id, state, owner_hash, auth_hash, salt, size, file_count, has_password, password_algo,
        password_salt, max_downloads, leased_until, created_at, expires_at, due_at, held_bytes)
      select id, 'pending', owner_hash, auth_hash, salt, size, file_count, password_algo is not null, password_algo,
        password_salt, max_downloads, leased_until, now(), ${inSeconds(sql`expire_sec`)}, leased_until,
        held_bytes
      from admitted returning id`.execute(db);
      return inserted.rows;
    });
    const begun = new Set(rows.map(({ id }) => id));
    return all.map(({ id }) => (begun.has(id) ? undefined : new NoRoom('STORAGE_MAX_BYTES is reached')));
  };
  const begin = batched(oneIdEach(db, addAll));

  const publishAll = async (ids: readonly string[]): Promise<boolean[]> => {
    const { rows } = await sql<{ id: string }>`
      update files.uploads set
        state = 'available',
        leased_until = null,
        created_at = now(),
        expires_at = ${inSeconds(LIFETIME)},
        due_at = ${inSeconds(LIFETIME)}
      where id = any(${ids}::uuid[]) and state = 'pending'
      returning id`.execute(db);
    const published = new Set(rows.map(({ id }) => id));
    if (ids.some((id) => !published.has(id))) for (const id of await publishedBefore(ids)) published.add(id);
    return ids.map((id) => published.has(id));
  };
  const publish = batched(oneIdEach(db, publishAll));

  const publishedBefore = async (ids: readonly string[]): Promise<string[]> => {
    const { rows } = await sql<{ id: string }>`
      select id from files.uploads where id = any(${ids}::uuid[]) and state <> 'pending'`.execute(db);
    return rows.map(({ id }) => id);
  };

  const claimDownloads = batchedClaims<
    { id: string; leaseSec: number },
    { id: string; granted: number; count: number }
  >(db, async (claims) => {
    const ids = claims.map(({ id }) => id);
    // Rows are locked in the order of their ids: so do all replicas, and nobody waits in a circle.
    const { rows } = await sql<{ id: string; granted: number; count: number }>`
        with locked as materialized (
          select id, max_downloads - download_count as unused, due_at from files.uploads
          where ${those(ids)('id')} and ${status} = 'available' order by id for update
        ), claimed as materialized (
          select locked.id, least(wanted.count, unused) as granted, lease_sec, ${inSeconds(sql`lease_sec`)} as leased_until,
            -- The last download makes the row the sweep's, as soon as nobody reads the blob any more.
            case when wanted.count >= unused then now() else due_at end as due_at
          from locked join unnest(
            ${ids}::uuid[],
            ${claims.map(({ calls }) => calls.length)}::int[],
            ${claims.map(({ calls }) => Math.max(...calls.map(({ leaseSec }) => leaseSec)))}::int[]
          ) as wanted (id, count, lease_sec) on wanted.id = locked.id
        ), counted as (
          update files.uploads u set
            download_count = u.download_count + granted,
            used_at = ${usedNow('u', sql`granted`, useTimes)},
            leased_until = greatest(u.leased_until, claimed.leased_until),
            readers = u.readers + case when lease_sec > 0 then granted else 0 end,
            due_at = claimed.due_at
          from claimed where u.id = claimed.id and ${those(ids)('u.id')}
          returning u.id, granted, u.download_count as count, u.hooks
        ), ${noted('files.uploads', 'counted', 'used', sql`c.granted`, useTimes)}
        select id, granted, count from counted`.execute(db);
    return rows;
  });

  const releaseAll = async (ends: readonly { id: string; isWhole: boolean }[]): Promise<undefined[]> => {
    const ids = ends.map(({ id }) => id);
    await sql`
      with locked as materialized (
        select id from files.uploads where ${those(ids)('id')} order by id for update
      ), over as materialized (
        select locked.id, count(*)::int as count, (count(*) filter (where is_whole))::int as whole
        from locked join unnest(${ids}::uuid[], ${ends.map(({ isWhole }) => isWhole)}::boolean[]) as given (id, is_whole)
          on given.id = locked.id
        group by locked.id
      ), counted as (
        update files.uploads u set readers = greatest(u.readers - over.count, 0), whole_count = u.whole_count + over.whole
        from over where u.id = over.id and ${those(ids)('u.id')} returning u.id, u.hooks, over.whole
      ), ${noted('files.uploads', 'counted', 'whole', sql`c.whole`, useTimes)}
      select`.execute(db);
    return ends.map(() => undefined);
  };
  const release = batched<{ id: string; isWhole: boolean }, void>(oneIdEach(db, releaseAll));

  return {
    begin: (upload, leaseSec) => begin({ ...upload, leaseSec }),

    async renewLease(id, leaseSec) {
      await db
        .updateTable('files.uploads')
        .set({ leased_until: sql`greatest(leased_until, ${inSeconds(leaseSec)})` })
        .where('id', '=', id)
        .execute();
    },

    publish,

    async abandon(id) {
      await removeWithBlob(id, ['pending'], LATE_BLOB_SEC);
    },

    find: uploadFinder(db),

    async setMeta(id, { encryptedMeta, nonce, share }) {
      const { numUpdatedRows } = await db
        .updateTable('files.uploads')
        .set({ encrypted_meta: encryptedMeta, nonce, meta_share: share ?? null })
        .where('id', '=', id)
        .where('encrypted_meta', 'is', null)
        .where(isAvailable)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    async claimDownload(id, leaseSec) {
      const claimed = await claimDownloads({ id, leaseSec });
      return claimed?.count ?? 0;
    },

    release: (id, isWhole) => release({ id, isWhole }),

    async returnDownload(id) {
      await db
        .updateTable('files.uploads')
        .set({
          download_count: sql`download_count - 1`,
          due_at: sql`expires_at`,
          used_at: unused('files.uploads', sql`1`),
        })
        .where('id', '=', id)
        .where('state', '=', 'available')
        .where('download_count', '>', 0)
        .execute();
    },

    remove: (id) => removeWithBlob(id, ['available', 'expired', 'limit_reached']),

    async blobsDeleted(ids) {
      if (ids.length === 0) return;
      await apart(db, ids, (are) =>
        sql`
          with settled as materialized (
            select id from files.blob_deletions where ${are('id')} order by id for update
          ), gone as (
            delete from files.blob_deletions d using settled where d.id = settled.id and ${are('d.id')} returning d.held_bytes
          ), ${returned(UPLOADS.counter)}
          select`.execute(db),
      );
    },

    async check() {
      await checkColumns(db, 'files');
    },
  };
}
