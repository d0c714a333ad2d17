import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** A ceiling for file requests, as uploads and notes have theirs. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`alter table files.requests add column held_bytes bigint not null default 0`.execute(db);
  await sql`
    create table files.request_storage (
      only_row boolean primary key default true check (only_row),
      bytes bigint not null default 0 check (bytes >= 0)
    )`.execute(db);
  await sql`insert into files.request_storage default values`.execute(db);
}
