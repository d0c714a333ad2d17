import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/**
 * How many bytes are held, in one row for each kind, and what each item holds of it: nothing when no ceiling was in force.
 * Adding a column with a constant default rewrites no table.
 */
export async function up(db: Kysely<Schema>): Promise<void> {
  for (const table of ['files.uploads', 'files.blob_deletions', 'notes.notes']) {
    await sql`alter table ${sql.table(table)} add column held_bytes bigint not null default 0`.execute(db);
  }
  for (const counter of ['files.storage', 'notes.storage']) {
    await sql`
      create table ${sql.table(counter)} (
        only_row boolean primary key default true check (only_row),
        bytes bigint not null default 0 check (bytes >= 0)
      )`.execute(db);
    await sql`insert into ${sql.table(counter)} default values`.execute(db);
  }
}
