import type { Database } from '@mayfly/store/postgres/database';
import { sql } from 'kysely';

/**
 * Fills the tables with available uploads, notes, requests and tombstones, a third of each kind, of which `due` in all are due: as they
 * come, ids at random, so that nothing lies where an index would like it.
 */
export async function fill(db: Database, rows: number, due: number): Promise<void> {
  const every = Math.max(Math.floor(rows / due), 1);
  const dueAt = sql`case when n % ${sql.lit(every)} = 0 then now() - interval '1 minute' else now() + interval '1 day' end`;
  const third = Math.floor(rows / 3);
  const token = sql`sha256(int4send(n::int))`;
  await sql`
    insert into files.uploads
      (id, state, owner_hash, auth_hash, salt, size, file_count, has_password, max_downloads, expires_at, created_at, due_at)
    select gen_random_uuid(), 'available', ${token}, ${token}, 'c2FsdHNhbHRzYWx0c2FsdA', 1000, 1, false, 1,
      ${dueAt}, now() - interval '1 day', ${dueAt}
    from generate_series(1, ${sql.lit(rows - 2 * third)}) n`.execute(db);
  await sql`
    insert into files.uploads
      (id, state, owner_hash, size, file_count, has_password, max_downloads, expires_at, created_at, due_at)
    select gen_random_uuid(), 'expired', ${token}, 1000, 1, false, 1, ${dueAt}, now() - interval '1 day', ${dueAt}
    from generate_series(1, ${sql.lit(third)}) n`.execute(db);
  await sql`
    insert into notes.notes
      (id, state, owner_hash, auth_hash, salt, content_type, has_password, encrypted_content, nonce, max_views,
       expires_at, created_at, due_at)
    select gen_random_uuid(), 'available', ${token}, ${token}, 'c2FsdHNhbHRzYWx0c2FsdA', 'text', false,
      repeat('x', 200), 'bm9uY2Vub25jZQ==', 1, ${dueAt}, now() - interval '1 day', ${dueAt}
    from generate_series(1, ${sql.lit(third)}) n`.execute(db);
  await sql`
    insert into files.requests
      (id, state, owner_hash, max_drops, max_bytes, drop_expire_sec, drop_max_downloads, expires_at, created_at, due_at)
    select gen_random_uuid(), case when n % 2 = 0 then 'open' else 'expired' end, ${token}, 1, 1000, 60, 1,
      ${dueAt}, now() - interval '1 day', ${dueAt}
    from generate_series(1, ${sql.lit(third)}) n`.execute(db);
  await sql`analyze`.execute(db);
}
