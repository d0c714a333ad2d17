import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`create schema files`.execute(db);
  await sql`
    create table files.uploads (
      id uuid primary key,
      state text not null check (state in ('pending', 'available', 'expired', 'limit_reached')),
      owner_hash bytea not null,
      auth_hash bytea,
      salt text,
      size bigint not null check (size > 0),
      file_count integer not null check (file_count > 0),
      has_password boolean not null,
      password_algo text,
      password_salt text,
      encrypted_meta text,
      nonce text,
      download_count integer not null default 0,
      max_downloads integer not null,
      leased_until timestamptz(3),
      expires_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      due_at timestamptz(3) not null,
      check (download_count between 0 and max_downloads)
    )`.execute(db);
  await sql`create index uploads_due on files.uploads (state, due_at)`.execute(db);
  await sql`
    create table files.blob_deletions (
      id uuid primary key,
      due_at timestamptz(3) not null default now(),
      attempts integer not null default 0
    )`.execute(db);
  await sql`create index blob_deletions_due on files.blob_deletions (due_at)`.execute(db);
}
