import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** Requests for files, what was dropped into them, and what is still to be told of it. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`
    create table files.requests (
      id uuid primary key,
      state text not null,
      owner_hash bytea not null,
      public_key text,
      greeting text,
      nonce text,
      max_drops integer not null,
      drop_count integer not null default 0 check (drop_count between 0 and max_drops),
      max_bytes bigint not null,
      byte_count bigint not null default 0 check (byte_count between 0 and max_bytes),
      drop_expire_sec integer not null,
      drop_max_downloads integer not null,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      due_at timestamptz(3) not null,
      hooks jsonb
    )`.execute(db);
  await sql`create index requests_due on files.requests (due_at)`.execute(db);
  await sql`
    create table files.request_drops (
      request_id uuid not null,
      upload_id uuid not null,
      enc text not null,
      sealed text not null,
      bytes bigint not null,
      number integer not null,
      at timestamptz(0),
      primary key (request_id, upload_id)
    )`.execute(db);
  await sql`
    create table files.request_notices (
      id uuid primary key default gen_random_uuid(),
      item_id uuid not null,
      kind text not null,
      host text not null,
      event text not null,
      at timestamptz(0),
      attempts integer not null default 0,
      due_at timestamptz(3) not null default date_trunc('milliseconds', now())
    )`.execute(db);
  await sql`create index request_notices_due on files.request_notices (due_at)`.execute(db);
  await sql`create index notices_of_requests on files.request_notices (item_id)`.execute(db);
}
