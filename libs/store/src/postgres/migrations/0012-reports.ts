import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** What was reported, and what an operator has blocked, of all kinds of items. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`create schema desk`.execute(db);
  await sql`
    create table desk.reports (
      item_id uuid not null,
      number integer not null check (number between 1 and 20),
      report_kind text not null,
      report_text text not null,
      auth_hash bytea,
      enc text,
      sealed text,
      at timestamptz(0) not null,
      primary key (item_id, number)
    )`.execute(db);
  await sql`
    create table desk.blocks (
      item_id uuid primary key,
      item_kind text not null,
      reason text not null,
      blocked_at timestamptz(3) not null,
      due_at timestamptz(3) not null,
      owner_hash bytea not null,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      used_count integer not null,
      most_uses integer not null,
      whole_count integer not null
    )`.execute(db);
  await sql`create index blocks_due on desk.blocks (due_at)`.execute(db);
}
