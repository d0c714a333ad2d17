import { sql } from 'kysely';
import { type Repeat, SMALL_LENGTH, type View } from '../notes.ts';
import { type BatchOptions, batched } from './batched.ts';
import type { Database } from './database.ts';
import { apart, oneIdEach, those } from './distributed.ts';
import { noted } from './noted.ts';
import { inSeconds } from './time.ts';
import { type UseTimes, usedNow } from './use-times.ts';

/** One that brings a token's hash gets the view only when it is the note's, and the note is small. */
type KeyedCall = { id: string; key: string; forSec: number; authHash?: Buffer | undefined };
/** A note with the counts that it gave to the keys of this statement; keys without one got nothing. */
type Answered = Omit<View, 'viewCount'> & {
  id: string;
  authHash: Buffer;
  countBefore: number;
  counts: Record<string, number>;
  /** For so long the content of a used-up note stays; null when views are left. */
  keptMs: number | null;
};

/** Of a note: one of these is its token's hash, and it is small. Nothing that PostgreSQL could look for. */
export const isSmallAndOf = (hashes: (Buffer | null)[]) =>
  sql<boolean>`case when auth_hash = any(${hashes}::bytea[])
    then octet_length(encrypted_content) <= ${sql.lit(SMALL_LENGTH)} end`;

/**
 * Views with a key. The first call with a key claims one; the same key gets the same view again until its time is over, also
 * when none is left by then. Decision repeatable-views. `onKept` hears of content that outlives the last view.
 */
export function keyedViews(
  db: Database,
  onKept: (id: string, keptMs: number) => void,
  useTimes: UseTimes,
  options?: BatchOptions,
) {
  const askAll = async (calls: readonly KeyedCall[]): Promise<(View | undefined)[]> => {
    const distinct = new Map(calls.map((call) => [kindOf(call), call]));
    const rows = new Map((await answerAll(db, [...distinct.values()], useTimes)).map((row) => [row.id, row]));
    for (const { id, keptMs } of rows.values()) if (keptMs !== null) onKept(id, keptMs);
    return calls.map(({ id, key, authHash }) => {
      const row = rows.get(id);
      const viewCount = row?.counts[key];
      if (!row || viewCount === undefined || authHash?.equals(row.authHash) === false) return undefined;
      const { encryptedContent, nonce, maxViews, countBefore } = row;
      return { encryptedContent, nonce, viewCount, maxViews, isRepeat: viewCount <= countBefore };
    });
  };
  const ask = batched(oneIdEach(db, askAll), options);
  return (id: string, { keyHash, forSec }: Repeat, authHash?: Buffer) =>
    ask({ id, key: keyHash.toString('base64'), forSec, authHash });
}

const kindOf = ({ id, key, authHash }: KeyedCall) => `${id} ${key} ${authHash?.toString('latin1') ?? ''}`;

/** Each kind of call once; either all bring a token's hash or none does. */
async function answerAll(db: Database, calls: KeyedCall[], useTimes: UseTimes): Promise<Answered[]> {
  const ids = [...new Set(calls.map(({ id }) => id))];
  const hashes = calls.map(({ authHash }) => authHash ?? null);
  const forSec = Math.max(...calls.map((call) => call.forSec)); // one setting, so the same for all
  // Rows are locked before they are read and in the order of their ids, as for views without a key. What is remembered is in
  // the row itself: another table would be read as it was before the wait for the lock, and a key could count twice.
  const { rows } = await sql<Answered>`
    with wanted as (
      select * from unnest(
        ${calls.map(({ id }) => id)}::uuid[],
        ${calls.map(({ key }) => key)}::text[],
        ${hashes}::bytea[]
      ) with ordinality as given (id, key, auth_hash, place)
    ), locked as materialized (
      select id, auth_hash, encrypted_content, nonce, view_count, max_views, recent_views,
        greatest(repeatable_until, least(${inSeconds(forSec)}, expires_at)) as until
      from notes.notes
      where ${those(ids)('id')} and ${hashes.some((hash) => hash) ? isSmallAndOf(hashes) : sql`true`}
        and case when state = 'available' then expires_at > now() end -- no question for the sweep's index
        and (view_count < max_views or repeatable_until > now())
      order by id for update
    ), asked as (
      select l.*, w.key, w.place,
        case when (l.recent_views #>> array[w.key, 'until'])::timestamptz > now()
          then (l.recent_views #>> array[w.key, 'count'])::int end as known
      from (select id, auth_hash, view_count, max_views, recent_views from locked) as l
      join wanted w on w.id = l.id and coalesce(w.auth_hash = l.auth_hash, true)
    ), answered as (
      select id, key, known, max_views,
        coalesce(known, view_count + row_number() over (partition by id, known is null order by place)) as nth
      from asked
    ), fresh as (
      select a.id, count(*)::int as granted,
        jsonb_object_agg(a.key, jsonb_build_object('count', a.nth, 'until', l.until)) as views
      from answered a join (select id, until from locked) as l on l.id = a.id
      where a.known is null and a.nth <= a.max_views group by a.id
    ), viewed as materialized (
      select f.id, f.granted, l.until, l.view_count + f.granted as view_count,
        l.view_count + f.granted >= l.max_views as is_used_up,
        f.views || coalesce((
          select jsonb_object_agg(old.key, old.value) from jsonb_each(l.recent_views) as old
          where (old.value ->> 'until')::timestamptz > now()
        ), '{}') as recent_views
      from fresh f join (select id, view_count, max_views, recent_views, until from locked) as l on l.id = f.id
    ), counted as (
      update notes.notes n set
        view_count = f.view_count,
        used_at = ${usedNow('n', sql`f.granted`, useTimes)},
        repeatable_until = f.until,
        recent_views = f.recent_views,
        due_at = case when f.is_used_up then f.until else n.due_at end
      from viewed f where n.id = f.id and ${those(ids)('n.id')} returning n.id, n.hooks, f.granted
    ), ${noted('notes.notes', 'counted', 'used', sql`c.granted`, useTimes)}
    select l.id, l.auth_hash as "authHash", l.encrypted_content as "encryptedContent", l.nonce, l.max_views as "maxViews",
      l.view_count as "countBefore", a.counts,
      case when l.view_count + coalesce(f.granted, 0) >= l.max_views
        then ceil(extract(epoch from l.until - now()) * 1000)::int end as "keptMs"
    from locked l
    join (
      select id, jsonb_object_agg(key, nth) as counts from answered where nth <= max_views group by id
    ) as a on a.id = l.id
    left join fresh f on f.id = l.id`.execute(db);
  return rows;
}

/** How exactly the end of a repetition is met. */
const SLOT_MS = 200;
/** Beyond so many the rest is left to the sweep: some 10 MB. */
const MOST_WAITING = 100_000;

/**
 * Erases content that outlived the last view, when it cannot be asked for any more. Best effort: for a process that ends
 * before that, and for a database that is away then, the sweep does it.
 */
export function contentEraser(db: Database) {
  const waiting = new Map<number, Set<string>>();
  let count = 0;
  const eraseAt = (slot: number) => {
    const ids = [...(waiting.get(slot) ?? [])];
    waiting.delete(slot);
    count -= ids.length;
    erase(db, ids).catch(() => {}); // best effort, see above
  };
  return (id: string, inMs: number) => {
    if (count >= MOST_WAITING) return;
    const slot = Math.ceil((performance.now() + inMs) / SLOT_MS) + 1;
    let ids = waiting.get(slot);
    if (!ids) {
      ids = new Set();
      waiting.set(slot, ids);
      setTimeout(eraseAt, slot * SLOT_MS - performance.now(), slot).unref();
    }
    if (!ids.has(id)) count += 1;
    ids.add(id);
  };
}

async function erase(db: Database, ids: string[]) {
  await apart(db, ids, (are) =>
    sql`
      with over as materialized (
        select id from notes.notes
        where ${are('id')} and view_count >= max_views and repeatable_until <= now()
        order by id for update
      )
      update notes.notes n set encrypted_content = null, nonce = null, recent_views = null, repeatable_until = null
      from over where n.id = over.id and ${are('n.id')}`.execute(db),
  );
}
