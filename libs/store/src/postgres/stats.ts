import { type RawBuilder, sql } from 'kysely';
import type { Held, Stats, StoreStats } from '../stats.ts';
import type { Database } from './database.ts';
import { isDistributed } from './distributed.ts';

/** Up to here a table is counted whole (16 MB); of a larger one so much is read as a sample. */
const SAMPLE_PAGES = 2_000;
const MOST_DELETIONS = 100_000;

const UPLOADS = {
  name: 'files.uploads',
  // A tombstone's payload has gone; its row still has the size. What comes in parts has what has come of it.
  bytes: sql`case
    when state = 'pending' and session.id is not null then part.bytes
    when state in ('pending', 'available') then size else 0 end`,
  beside: sql`
    left join files.upload_sessions session on session.id = item.id
    left join (select id, sum(bytes) as bytes from files.upload_parts group by id) as part on part.id = item.id`,
  states: ['pending', 'available', 'expired', 'limit_reached'],
};
const NOTES = {
  name: 'notes.notes',
  bytes: sql`coalesce(octet_length(encrypted_content), 0)`, // known without reading the content
  beside: sql``,
  states: ['available', 'expired', 'limit_reached'],
};

export function postgresStats(db: Database, samplePages = SAMPLE_PAGES): StoreStats {
  return {
    async read(): Promise<Stats> {
      // One after the other: figures are not worth a second connection.
      const uploads = await held(db, UPLOADS, samplePages);
      const notes = await held(db, NOTES, samplePages);
      return {
        uploads: uploads.held,
        notes: notes.held,
        isEstimated: uploads.isEstimated || notes.isEstimated,
        oldestDueSec: await oldestDue(db),
        blobDeletions: await deletions(db),
      };
    },
  };
}

type Table = { name: string; bytes: RawBuilder<unknown>; beside: RawBuilder<unknown>; states: string[] };

async function held(db: Database, { name, bytes, beside, states }: Table, samplePages: number) {
  const size = sql.id((await isDistributed(db)) ? 'citus_relation_size' : 'pg_relation_size');
  const { rows: sizes } = await sql<{ pages: number }>`
    select ${size}(${name}::regclass) / current_setting('block_size')::int as pages`.execute(db);
  const pages = sizes[0]?.pages ?? 0;
  const share = Math.min(samplePages / Math.max(pages, 1), 1);
  // The same pages every time, so that a figure moves only when the table does.
  const sample = share < 1 ? sql`tablesample system (${share * 100}) repeatable (1)` : sql``;
  const { rows } = await sql<Held>`
    select state, count(*) as count, coalesce(sum(${bytes}), 0)::float8 as bytes
    from ${sql.table(name)} item ${sample} ${beside} group by state`.execute(db);
  const counted = new Map(rows.map((row) => [row.state, row]));
  return {
    isEstimated: share < 1,
    held: states.map((state) => ({
      state,
      count: Math.round((counted.get(state)?.count ?? 0) / share),
      bytes: Math.round((counted.get(state)?.bytes ?? 0) / share),
    })),
  };
}

/**
 * The head of the index on (state, due_at) for each kind of row. What is leased is not late: a running download keeps the
 * sweep away. Notes of a blob move their due time at every attempt, so what is late there was not even tried.
 */
async function oldestDue(db: Database): Promise<Stats['oldestDueSec']> {
  const { rows } = await sql<Stats['oldestDueSec']>`
    select
      coalesce(extract(epoch from now() - (select min(due_at) from (
        (select due_at from files.uploads where state = 'available' and due_at <= now()
          and (leased_until is null or leased_until <= now()) order by due_at limit 1)
        union all
        (select due_at from files.uploads where state = 'pending' and due_at <= now()
          and leased_until <= now() order by due_at limit 1)
        union all
        (select due_at from files.uploads where state = 'expired' and due_at <= now() order by due_at limit 1)
        union all
        (select due_at from files.uploads where state = 'limit_reached' and due_at <= now() order by due_at limit 1)
      ) as late)), 0)::float8 as upload,
      coalesce(extract(epoch from now() - (select min(due_at) from (
        (select due_at from notes.notes where state = 'available' and due_at <= now() order by due_at limit 1)
        union all
        (select due_at from notes.notes where state = 'expired' and due_at <= now() order by due_at limit 1)
        union all
        (select due_at from notes.notes where state = 'limit_reached' and due_at <= now() order by due_at limit 1)
      ) as late)), 0)::float8 as note,
      coalesce(extract(epoch from now() - (select min(due_at) from files.blob_deletions where due_at <= now())),
        0)::float8 as blob`.execute(db);
  return rows[0] ?? { upload: 0, note: 0, blob: 0 };
}

async function deletions(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select id from files.blob_deletions limit ${MOST_DELETIONS}) as queued`.execute(db);
  return rows[0]?.count ?? 0;
}
