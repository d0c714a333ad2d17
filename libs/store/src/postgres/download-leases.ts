import { sql } from 'kysely';
import type { DownloadLeases, LeasedUpload, LeaseKey, TakenRange } from '../download-leases.ts';
import { batched } from './batched.ts';
import type { Database } from './database.ts';
import { oneIdEach, type Those, those } from './distributed.ts';
import { COLUMNS, toUpload, type UploadRow } from './find-upload.ts';
import { noted } from './noted.ts';
import { leaseTaker } from './take-lease.ts';
import { inSeconds } from './time.ts';
import { type UseTimes, unused } from './use-times.ts';

type End = LeaseKey & { unsentBytes: number; idleSec: number };

export function postgresDownloadLeases(db: Database, useTimes: UseTimes = {}): DownloadLeases {
  const takeOnce = leaseTaker(db, useTimes);
  /** Of each lease one step at a time: a statement has no lease twice. */
  const running = new Map<string, Promise<unknown>>();

  // What it changes is best effort, so its commit waits for no disk. An end that would move by less than a second stays: its index as well.
  const settleAll = async (ends: readonly End[]): Promise<undefined[]> => {
    const ids = ends.map(({ id }) => id);
    await sql`
      with locked as materialized (
        select upload_id, token_hash, ends_at, hard_ends_at from files.download_leases
        where ${those(ids)('upload_id')} and token_hash = any(${ends.map(({ tokenHash }) => tokenHash)}::bytea[])
        order by upload_id, token_hash for update
      ), over as materialized (
        select l.upload_id, l.token_hash, ended.count, ended.unsent, case
            when l.ends_at > ${inSeconds(sql`ended.idle_sec - least(ended.idle_sec / 100.0, 1)`)} then l.ends_at
            else least(l.hard_ends_at, ${inSeconds(sql`ended.idle_sec`)}) end as ends_at
        from locked l join (
          select id, token_hash, count(*)::int as count, sum(unsent)::bigint as unsent, max(idle_sec) as idle_sec
          from unnest(
            ${ids}::uuid[],
            ${ends.map(({ tokenHash }) => tokenHash)}::bytea[],
            ${ends.map(({ unsentBytes }) => unsentBytes)}::bigint[],
            ${ends.map(({ idleSec }) => idleSec)}::int[]
          ) as given (id, token_hash, unsent, idle_sec)
          group by id, token_hash
        ) as ended on ended.id = l.upload_id and ended.token_hash = l.token_hash
      ), settled as (
        update files.download_leases l set
          bytes_left = l.bytes_left + over.unsent,
          open_ranges = greatest(l.open_ranges - over.count, 0),
          sent_bytes = l.sent_bytes - over.unsent,
          ends_at = over.ends_at
        from over where l.upload_id = over.upload_id and l.token_hash = over.token_hash and ${those(ids)('l.upload_id')}
      )
      select set_config('synchronous_commit', 'off', true)`.execute(db);
    return ends.map(() => undefined);
  };
  const settle = batched<End, void>(oneIdEach(db, settleAll));

  return {
    async take(key, range, terms): Promise<TakenRange | 'ended' | 'busy' | 'gone'> {
      const name = `${key.id} ${key.tokenHash.toString('base64')}`;
      while (running.has(name)) await running.get(name);
      const work = async () => {
        for (let wasGone = false; ; ) {
          const taken = await takeOnce({ ...key, range, terms });
          if (taken !== 'again' && (taken !== 'gone' || wasGone)) return taken;
          // Perhaps the same request came twice at once, and this one waited for the other, whose lease it could not see.
          wasGone = taken === 'gone';
        }
      };
      const taking = work().finally(() => running.delete(name));
      running.set(
        name,
        taking.catch(() => {}), // the caller is told
      );
      return taking;
    },

    async find({ id, tokenHash }) {
      const { rows } = await sql<LeasedUpload>`
        select u.auth_hash as "authHash", u.size as "sizeBytes", u.file_count as "fileCount"
        from files.download_leases l join files.uploads u on u.id = l.upload_id
        where l.upload_id = ${id} and l.token_hash = ${tokenHash} and l.ends_at > now() and u.auth_hash is not null`.execute(
        db,
      );
      return rows[0];
    },

    async describe({ id, tokenHash }) {
      const { rows } = await sql<UploadRow>`
        select ${sql.join(COLUMNS.map((column) => sql.ref(`u.${column}`)))}, 'available' as status, u.encrypted_meta
        from files.download_leases l join files.uploads u on u.id = l.upload_id
        where l.upload_id = ${id} and l.token_hash = ${tokenHash} and l.ends_at > now()`.execute(db);
      const upload = rows[0] && toUpload(rows[0]);
      return upload?.status === 'available' ? upload : undefined; // erased meanwhile
    },

    async renew({ id, tokenHash }, seconds) {
      await sql`
        update files.download_leases set ends_at = greatest(ends_at, ${inSeconds(seconds)})
        where upload_id = ${id} and token_hash = ${tokenHash}`.execute(db);
    },

    settle: (key, unsentBytes, idleSec) => settle({ ...key, unsentBytes, idleSec }),

    async end({ id, tokenHash }, isWhole) {
      await sql`
        with ended as (
          delete from files.download_leases where upload_id = ${id} and token_hash = ${tokenHash}
          returning upload_id, sent_bytes, ${isWhole}::boolean as is_whole
        ), counted as (${givenBack(those([id]))} returning u.id, u.hooks, over.whole), ${noted('files.uploads', 'counted', 'whole', sql`c.whole`, useTimes)}
        select`.execute(db);
    },
  };
}

/**
 * What follows common table expressions of which `ended` has the leases that are over: those that brought nothing give their download
 * back, those that brought all are counted for the owner.
 */
export const givenBack = (those: Those) => sql`
  update files.uploads u set
    download_count = greatest(u.download_count - over.unused, 0), used_at = ${unused('u', sql`over.unused`)},
    due_at = case when over.unused > 0 then u.expires_at else u.due_at end,
    whole_count = u.whole_count + over.whole
  from (
    select upload_id, (count(*) filter (where sent_bytes = 0))::int as unused,
      (count(*) filter (where sent_bytes > 0 and is_whole))::int as whole
    from ended group by upload_id
  ) as over
  where u.id = over.upload_id and ${those('u.id')} and u.state = 'available' and over.unused + over.whole > 0`;
