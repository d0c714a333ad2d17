import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`create schema notes`.execute(db);
  await sql`
    create table notes.notes (
      id uuid primary key,
      state text not null check (state in ('available', 'expired', 'limit_reached')),
      owner_hash bytea not null,
      auth_hash bytea,
      salt text,
      content_type text not null,
      has_password boolean not null,
      password_algo text,
      password_salt text,
      encrypted_content text,
      nonce text,
      view_count integer not null default 0,
      max_views integer not null,
      expires_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      due_at timestamptz(3) not null,
      check (view_count between 0 and max_views)
    )`.execute(db);
  // Ciphertext does not compress: storing it as it is saves the attempt.
  await sql`alter table notes.notes alter column encrypted_content set storage external`.execute(db);
  await sql`create index notes_due on notes.notes (state, due_at)`.execute(db);
}
