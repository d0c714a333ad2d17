import { sql } from 'kysely';
import type { ByteRange } from '../blobs.ts';
import type { DownloadLeases, LeasedUpload, LeaseKey, LeaseTerms, TakenRange } from '../download-leases.ts';
import { batched } from './batched.ts';
import type { Database } from './database.ts';
import { COLUMNS, status, toUpload, type UploadRow } from './find-upload.ts';
import { noted } from './noted.ts';
import { inSeconds } from './time.ts';
import { type UseTimes, unused, usedNow } from './use-times.ts';

// A lease's row is locked before its upload's; a new one is inserted under the lock of its upload. Then nobody waits in a circle.

export function postgresDownloadLeases(db: Database, useTimes: UseTimes = {}): DownloadLeases {
  async function takeOnce({ id, tokenHash }: LeaseKey, { first, last }: ByteRange, terms: LeaseTerms) {
    const { idleSec, longestSec, budgetBytes, cuts, ranges, lostBytes, forgivenBytes } = terms;
    const { isContinued = false, isRepeated = false } = terms;
    const bytes = last + 1 - first;
    const range = sql`int8range(${first}::bigint, ${last + 1}::bigint)`;
    /** Where this one begins within a recent one, or repeats it, the rest of that did not arrive. */
    const lost = sql`coalesce((
      select least(upper(recent) - ${first}::bigint, ${lostBytes}::bigint, forgiven_left)
      from unnest(recent_ranges) with ordinality as ranges (recent, age)
      where lower(recent) < ${isRepeated ? first + 1 : first}::bigint and upper(recent) > ${first}::bigint order by age limit 1), 0)`;
    const { rows } = await sql<{
      is_known: boolean;
      is_busy: boolean | null;
      count: number | null;
      ends_at: Date | null;
    }>`
      with known as materialized (
        select ends_at > now() and open_ranges >= ${ranges}::int as is_busy
        from files.download_leases where upload_id = ${id} and token_hash = ${tokenHash}
      ), taken as (
        update files.download_leases set
          bytes_left = bytes_left + ${lost} - ${bytes}::bigint, sent_bytes = sent_bytes + ${bytes}::bigint,
          cuts_left = cuts_left - case when bytes_left + ${lost} < ${bytes}::bigint then 1 else 0 end,
          forgiven_left = forgiven_left - ${lost},
          open_ranges = open_ranges + 1, recent_ranges = (array_prepend(${range}, recent_ranges))[1:${ranges}::int],
          ends_at = least(hard_ends_at, ${inSeconds(idleSec)})
        where upload_id = ${id} and token_hash = ${tokenHash} and ends_at > now()
          and open_ranges < ${ranges}::int and (bytes_left + ${lost} >= ${bytes}::bigint or (open_ranges > 0 and cuts_left > 0))
        returning ends_at
      ), upload as materialized (
        select id, expires_at from files.uploads
        where id = ${id} and not ${isContinued}::boolean and not exists (select from known) and ${status} = 'available' for update
      ), opened as (
        insert into files.download_leases (upload_id, token_hash, bytes_left, cuts_left, forgiven_left, open_ranges, recent_ranges, sent_bytes, ends_at, hard_ends_at)
        select id, ${tokenHash}, ${budgetBytes - bytes}::bigint, ${cuts}::int, ${forgivenBytes}::bigint, 1, array[${range}], ${bytes}::bigint,
          ${inSeconds(idleSec)}, least(${inSeconds(longestSec)}, expires_at + make_interval(secs => ${idleSec}))
        from upload on conflict do nothing returning upload_id, least(ends_at, hard_ends_at) as ends_at
      ), counted as (
        update files.uploads u set
          download_count = u.download_count + 1, used_at = ${usedNow('u', sql`1`, useTimes)},
          due_at = case when u.download_count + 1 >= u.max_downloads then now() else u.due_at end
        from opened where u.id = opened.upload_id returning u.id, u.hooks, u.download_count
      ), ${noted('files.uploads', 'counted', 'used', sql`1`, useTimes)}
      select exists (select from known) as is_known, (select is_busy from known) as is_busy, (select download_count from counted) as count,
        coalesce((select ends_at from taken), (select ends_at from opened)) as ends_at`.execute(db);
    const [row] = rows;
    if (row?.ends_at) return { endsAt: row.ends_at, ...(row.count === null ? {} : { count: row.count }) };
    if (!row?.is_known) return 'gone';
    return row.is_busy ? 'busy' : 'ended';
  }

  const settle = batched<LeaseKey & { unsentBytes: number; idleSec: number }, void>(async (ends) => {
    await sql`
      with over as materialized (
        select l.upload_id, l.token_hash, ended.count, ended.unsent, ended.idle_sec from files.download_leases l
        join (
          select id, token_hash, count(*)::int as count, sum(unsent)::bigint as unsent, max(idle_sec) as idle_sec
          from unnest(
            ${ends.map(({ id }) => id)}::uuid[],
            ${ends.map(({ tokenHash }) => tokenHash)}::bytea[],
            ${ends.map(({ unsentBytes }) => unsentBytes)}::bigint[],
            ${ends.map(({ idleSec }) => idleSec)}::int[]
          ) as given (id, token_hash, unsent, idle_sec)
          group by id, token_hash
        ) as ended on ended.id = l.upload_id and ended.token_hash = l.token_hash
        order by l.upload_id, l.token_hash for update of l
      )
      update files.download_leases l set
        bytes_left = l.bytes_left + over.unsent,
        open_ranges = greatest(l.open_ranges - over.count, 0),
        sent_bytes = l.sent_bytes - over.unsent,
        ends_at = least(l.hard_ends_at, now() + make_interval(secs => over.idle_sec))
      from over where l.upload_id = over.upload_id and l.token_hash = over.token_hash`.execute(db);
    return ends.map(() => undefined);
  });

  return {
    async take(key, range, terms): Promise<TakenRange | 'ended' | 'busy' | 'gone'> {
      const taken = await takeOnce(key, range, terms);
      // Perhaps the same request came twice at once, and this one waited for the other, whose lease it could not see.
      return taken === 'gone' ? takeOnce(key, range, terms) : taken;
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
        ), counted as (${GIVEN_BACK} returning u.id, u.hooks, over.whole), ${noted('files.uploads', 'counted', 'whole', sql`c.whole`, useTimes)}
        select`.execute(db);
    },
  };
}

/**
 * What follows common table expressions of which `ended` has the leases that are over: those that brought nothing give their download
 * back, those that brought all are counted for the owner.
 */
export const GIVEN_BACK = sql`
  update files.uploads u set
    download_count = greatest(u.download_count - over.unused, 0), used_at = ${unused('u', sql`over.unused`)},
    due_at = case when over.unused > 0 then u.expires_at else u.due_at end,
    whole_count = u.whole_count + over.whole
  from (
    select upload_id, (count(*) filter (where sent_bytes = 0))::int as unused,
      (count(*) filter (where sent_bytes > 0 and is_whole))::int as whole
    from ended group by upload_id
  ) as over
  where u.id = over.upload_id and u.state = 'available' and over.unused + over.whole > 0`;
