import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** Uploads that come in parts. What is known of each as an upload is its row in files.uploads, `pending` until it is complete. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`
    create table files.upload_sessions (
      id uuid primary key,
      store_ref text not null,
      part_bytes integer not null check (part_bytes > 0),
      is_exact boolean not null,
      is_announced boolean not null,
      seal uuid,
      sealed_bytes bigint,
      ends_at timestamptz(3) not null
    )`.execute(db);
  await sql`
    create table files.upload_parts (
      id uuid,
      number integer check (number > 0),
      bytes integer not null check (bytes > 0),
      tag text not null,
      replaced_tag text,
      digest bytea,
      primary key (id, number)
    )`.execute(db);
  await sql`alter table files.blob_deletions add column store_ref text`.execute(db);
}
