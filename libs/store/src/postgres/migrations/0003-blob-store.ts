import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`
    create table files.blob_store (
      is_single boolean primary key default true check (is_single),
      id uuid not null,
      marked_at timestamptz(3)
    )`.execute(db);
  await sql`alter table files.uploads add column lost_at timestamptz(3)`.execute(db);
}
