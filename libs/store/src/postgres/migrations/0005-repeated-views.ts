import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** What a note remembers of views that can be repeated. In its own row: one lock covers both, and whatever erases the note erases this. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`
    alter table notes.notes
      add column recent_views jsonb,
      add column repeatable_until timestamptz(3)`.execute(db);
}
