import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** When each use happened, to the minute, and how many downloads arrived whole: for the owner, as long as the row is there. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`
    alter table files.uploads
      add column used_at timestamptz(0)[] not null default '{}',
      add column whole_count integer not null default 0`.execute(db);
  await sql`alter table notes.notes add column used_at timestamptz(0)[] not null default '{}'`.execute(db);
}
