import { type RawBuilder, sql } from 'kysely';
import { DROP_BYTES } from '../file-requests.ts';
import type { Database } from './database.ts';
import { apart } from './distributed.ts';
import type { Items } from './noted.ts';

// How many bytes are stored, in one row for each kind of item, changed by the very statements that create items and let
// their bytes go. Items say what they hold; those that were made without a ceiling hold nothing and cost nothing. Rows of
// items are always locked before that one, or are new: nobody waits in a circle. Decision exact-ceilings.

export type Counter = 'files.storage' | 'files.request_storage' | 'notes.storage';

type Creation = {
  counter: Counter;
  maxBytes: number | undefined;
  /** What each call wants to hold. */
  wanted: readonly number[];
  /** A query for the rows to be, with `id` and `bytes`. */
  fresh: RawBuilder<unknown>;
};

/**
 * Creates what fits below the ceiling. `insert` gets common table expressions, of which `admitted` has the rows to insert with
 * their `held_bytes`, and resolves with what it has inserted. What does not fit as a whole is tried once more row by row.
 */
export async function withinCeiling<Row>(
  { counter, maxBytes, wanted, fresh }: Creation,
  insert: (admitted: RawBuilder<unknown>) => Promise<Row[]>,
): Promise<Row[]> {
  if (maxBytes === undefined) return insert(sql`admitted as (select *, 0 as held_bytes from (${fresh}) as fresh)`);
  const sum = wanted.reduce((total, bytes) => total + bytes, 0);
  const rows = await insert(sql`
    room as (
      update ${sql.table(counter)} set bytes = bytes + ${sum}::bigint
      where bytes + ${sum}::bigint <= ${maxBytes}::bigint returning bytes
    ),
    admitted as (select *, bytes as held_bytes from (${fresh}) as fresh where exists (select from room))`);
  return rows.length > 0 || wanted.length === 1 ? rows : insert(smallestFirst(counter, maxBytes, fresh));
}

function smallestFirst(counter: Counter, maxBytes: number, fresh: RawBuilder<unknown>) {
  return sql`
    fresh as materialized (${fresh}),
    counter as materialized (select only_row, bytes from ${sql.table(counter)} for update),
    admitted as materialized (
      select given.*, given.bytes as held_bytes
      from (select *, sum(bytes) over (order by bytes, id) as total from fresh) as given, counter
      where counter.bytes + given.total <= ${maxBytes}::bigint
    ),
    counted as (
      update ${sql.table(counter)} as storage set bytes = counter.bytes + added.bytes
      from counter, (select sum(held_bytes) as bytes from admitted) as added
      where storage.only_row = counter.only_row and added.bytes > 0
    )`;
}

/** A common table expression: what the rows of `gone` (with `held_bytes`) have held is free again. */
export function returned(counter: Counter, gone = 'gone') {
  return sql`
    returned as (
      update ${sql.table(counter)} as storage set bytes = greatest(storage.bytes - freed.bytes, 0)
      from (select sum(held_bytes) as bytes from ${sql.table(gone)}) as freed
      where freed.bytes > 0
    )`;
}

/** For queued deletions: one that is there already takes over what the upload has held, and what the store calls its parts. */
export const HELD_BY_THE_DELETION = sql`
  on conflict (id) do update set
    held_bytes = blob_deletions.held_bytes + excluded.held_bytes,
    store_ref = coalesce(excluded.store_ref, blob_deletions.store_ref)
  where excluded.held_bytes > 0 or excluded.store_ref is not null`;

/** What items there may be uncounted, and all that holds bytes. */
export type Kind = {
  counter: Counter;
  items: Items;
  bytes: RawBuilder<unknown>;
  isHolding: RawBuilder<unknown>;
  holders: string[];
};

export const UPLOADS: Kind = {
  counter: 'files.storage',
  items: 'files.uploads',
  bytes: sql`size`,
  // What comes in parts is counted as they come, and when it is published.
  isHolding: sql`state in ('pending', 'available')
    and not exists (select from files.upload_sessions s where s.id = uploads.id)`,
  holders: ['files.uploads', 'files.blob_deletions'],
};
export const NOTES: Kind = {
  counter: 'notes.storage',
  items: 'notes.notes',
  bytes: sql`octet_length(encrypted_content)`,
  isHolding: sql`state = 'available' and encrypted_content is not null`,
  holders: ['notes.notes'],
};

/** What it holds is room for all that may be dropped into it. */
export const REQUESTS: Kind = {
  counter: 'files.request_storage',
  items: 'files.requests',
  bytes: sql`octet_length(public_key) + coalesce(octet_length(greeting), 0) + ${sql.lit(DROP_BYTES)}::bigint * max_drops`,
  isHolding: sql`state = 'open'`,
  holders: ['files.requests'],
};

const ADOPTED_AT_ONCE = 5_000;

/**
 * Counts what was stored while no ceiling was in force, and then everything once more: a process of an older version lets
 * bytes go without saying so. Several processes may do it at once.
 */
export async function countStored(db: Database, kind: Kind): Promise<void> {
  for (let after: string | undefined = '00000000-0000-0000-0000-000000000000'; after !== undefined; ) {
    after = await adoptPage(db, kind, after);
  }
  await db.transaction().execute(async (transaction) => {
    // With the counter locked nothing is created. What is let go meanwhile is still seen here, and subtracted afterwards.
    await sql`select from ${sql.table(kind.counter)} for update`.execute(transaction);
    const sums = kind.holders.map(
      (table) => sql`(select coalesce(sum(held_bytes), 0) from ${sql.table(table)} where held_bytes > 0)`,
    );
    await sql`update ${sql.table(kind.counter)} set bytes = ${sql.join(sums, sql` + `)}`.execute(transaction);
  });
}

/** Resolves with the last id of the page; undefined when it was the last page. */
async function adoptPage(db: Database, { counter, items, bytes, isHolding }: Kind, after: string) {
  const { rows } = await sql<{ id: string; isUncounted: boolean }>`
    select id, held_bytes = 0 and ${isHolding} as "isUncounted" from ${sql.table(items)}
    where id > ${after}::uuid order by id limit ${ADOPTED_AT_ONCE}`.execute(db);
  const uncounted = rows.flatMap(({ id, isUncounted }) => (isUncounted ? [id] : []));
  if (uncounted.length > 0) {
    await apart(db, uncounted, (are) =>
      sql`
        with uncounted as materialized (
          select id, ${bytes} as bytes from ${sql.table(items)}
          where ${are('id')} and held_bytes = 0 and ${isHolding} order by id for update
        ), adopted as (
          update ${sql.table(items)} as item set held_bytes = uncounted.bytes
          from uncounted where ${are('item.id')} and item.id = uncounted.id returning item.held_bytes
        ), counted as (
          update ${sql.table(counter)} as storage set bytes = storage.bytes + added.bytes
          from (select sum(held_bytes) as bytes from adopted) as added
          where added.bytes > 0
        )
        select`.execute(db),
    );
  }
  return rows.length === ADOPTED_AT_ONCE ? rows.at(-1)?.id : undefined;
}
