import { sql } from 'kysely';
import type { ByteRange } from '../blobs.ts';
import type { LeaseKey, LeaseTerms, TakenRange } from '../download-leases.ts';
import { batched } from './batched.ts';
import type { Database } from './database.ts';
import { oneIdEach, those } from './distributed.ts';
import { status } from './find-upload.ts';
import { noted } from './noted.ts';
import { inSeconds } from './time.ts';
import { type UseTimes, usedNow } from './use-times.ts';

export type Taking = LeaseKey & { range: ByteRange; terms: LeaseTerms };

type TakenRow = {
  is_known: boolean;
  is_busy: boolean | null;
  count: number | null;
  ends_at: Date | null;
  /** Downloads that the upload has left. */
  left: number | null;
};

// Rows of leases are locked before those of their uploads, each in the order of their keys; a new one is inserted under the lock of its
// upload. Then nobody waits in a circle.

/**
 * Takes a range under a lease, those of one moment by one statement; none of them may be of the same lease. `again` when another one stood in
 * the way: one that has opened the lease meanwhile, or was given a download that it did not need. `gone` may mean the first of these, too, the
 * first time.
 */
export function leaseTaker(db: Database, useTimes: UseTimes) {
  return batched(oneIdEach(db, takeAll(db, useTimes)));
}

function takeAll(db: Database, useTimes: UseTimes) {
  return async (all: readonly Taking[]): Promise<(TakenRange | 'ended' | 'busy' | 'gone' | 'again')[]> => {
    const ids = all.map(({ id }) => id);
    const terms = all.map((one) => one.terms);
    const { rows } = await sql<TakenRow>`
      with wanted as materialized (
        select *, beyond - first as bytes from unnest(
          ${ids}::uuid[],
          ${all.map(({ tokenHash }) => tokenHash)}::bytea[],
          ${all.map(({ range }) => range.first)}::bigint[],
          ${all.map(({ range }) => range.last + 1)}::bigint[],
          ${terms.map(({ idleSec }) => idleSec)}::int[],
          ${terms.map(({ longestSec }) => longestSec)}::int[],
          ${terms.map(({ budgetBytes }) => budgetBytes)}::bigint[],
          ${terms.map(({ cuts }) => cuts)}::int[],
          ${terms.map(({ ranges }) => ranges)}::int[],
          ${terms.map(({ lostBytes }) => lostBytes)}::bigint[],
          ${terms.map(({ forgivenBytes }) => forgivenBytes)}::bigint[],
          ${terms.map(({ isContinued = false }) => isContinued)}::boolean[],
          ${terms.map(({ isRepeated = false }) => isRepeated)}::boolean[]
        ) with ordinality as given (id, token_hash, first, beyond, idle_sec, longest_sec, budget, cuts, ranges, most_lost, forgiven,
          is_continued, is_repeated, number)
      ), locked as materialized (
        select * from files.download_leases
        where ${those(ids)('upload_id')} and token_hash = any(${all.map(({ tokenHash }) => tokenHash)}::bytea[])
        order by upload_id, token_hash for update
      ), known as materialized (
        select w.*, least(l.hard_ends_at, ${inSeconds(sql`w.idle_sec`)}) as new_end,
          (array_prepend(int8range(w.first, w.beyond), l.recent_ranges))[1:w.ranges] as new_ranges, l.ends_at > now() as is_live, l.open_ranges >= w.ranges as is_full, l.bytes_left,
          l.open_ranges > 0 and l.cuts_left > 0 as is_open,
          -- Where this one begins within a recent one, or repeats it, the rest of that did not arrive.
          coalesce((
            select least(upper(recent) - w.first, w.most_lost, l.forgiven_left)
            from unnest(l.recent_ranges) with ordinality as ranges (recent, age)
            where lower(recent) < w.first + w.is_repeated::int and upper(recent) > w.first order by age limit 1
          ), 0) as lost
        from wanted w join locked l on l.upload_id = w.id and l.token_hash = w.token_hash
      ), taken as (
        update files.download_leases l set
          bytes_left = l.bytes_left + k.lost - k.bytes, sent_bytes = l.sent_bytes + k.bytes,
          cuts_left = l.cuts_left - case when l.bytes_left + k.lost < k.bytes then 1 else 0 end,
          forgiven_left = l.forgiven_left - k.lost, open_ranges = l.open_ranges + 1,
          recent_ranges = k.new_ranges, ends_at = k.new_end
        from known k
        where ${those(ids)('l.upload_id')} and l.upload_id = k.id and l.token_hash = k.token_hash
          and k.is_live and not k.is_full and (k.bytes_left + k.lost >= k.bytes or k.is_open)
        returning k.number, l.ends_at
      ), fresh as materialized (
        select *, row_number() over (partition by id order by number) as place
        from wanted w where not is_continued and not exists (select from known k where k.number = w.number)
      ), upload as materialized (
        select id, expires_at, due_at, max_downloads - download_count as unused from files.uploads
        where ${those(ids)('id')} and id = any ((select array_agg(id) from fresh)::uuid[]) and ${status} = 'available'
        order by id for update
      ), opened as (
        insert into files.download_leases (upload_id, token_hash, bytes_left, cuts_left, forgiven_left, open_ranges, recent_ranges, sent_bytes, ends_at, hard_ends_at)
        select id, token_hash, budget - bytes, cuts, forgiven, 1, array[int8range(first, beyond)], bytes, least(idle_end, hard_end), hard_end
        from (
          select f.*, ${inSeconds(sql`idle_sec`)} as idle_end,
            least(${inSeconds(sql`longest_sec`)}, u.expires_at + idle_sec * interval '1 second') as hard_end
          from fresh f join upload u on u.id = f.id where f.place <= u.unused
        ) as one on conflict do nothing returning upload_id, token_hash, ends_at
      ), used as materialized (
        select u.id, o.count, case when o.count >= u.unused then now() else u.due_at end as due_at
        from (select upload_id, count(*)::int as count from opened group by upload_id) as o join upload u on u.id = o.upload_id
      ), counted as (
        update files.uploads u set
          download_count = u.download_count + o.count, used_at = ${usedNow('u', sql`o.count`, useTimes)}, due_at = o.due_at
        from used as o where u.id = o.id and ${those(ids)('u.id')} returning u.id, u.hooks, o.count, u.download_count
      ), ${noted('files.uploads', 'counted', 'used', sql`c.count`, useTimes)}
      select k.number is not null as is_known, k.is_live and k.is_full as is_busy, coalesce(t.ends_at, o.ends_at) as ends_at,
        (c.download_count - c.count + row_number() over (partition by o.upload_id order by w.number))::int as count,
        case when f.number is not null then u.unused - coalesce((select count from counted where id = w.id), 0) end as left
      from wanted w left join known k on k.number = w.number left join taken t on t.number = w.number
        left join opened o on o.upload_id = w.id and o.token_hash = w.token_hash left join counted c on c.id = o.upload_id
        left join fresh f on f.number = w.number left join upload u on u.id = w.id
      order by w.number`.execute(db);
    return rows.map(toTaken);
  };
}

function toTaken({ is_known, is_busy, count, ends_at, left }: TakenRow) {
  if (ends_at) return { endsAt: ends_at, ...(count === null ? {} : { count }) };
  if (!is_known) return left ? 'again' : 'gone';
  return is_busy ? 'busy' : 'ended';
}
