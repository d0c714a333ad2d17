import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** Downloads that can be cut and continued, and how many plain ones are under way: the payload goes when both are over. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`
    create table files.download_leases (
      upload_id uuid,
      token_hash bytea,
      bytes_left bigint not null,
      cuts_left integer not null,
      forgiven_left bigint not null,
      open_ranges integer not null,
      recent_ranges int8range[] not null,
      sent_bytes bigint not null,
      ends_at timestamptz(3) not null,
      hard_ends_at timestamptz(3) not null,
      primary key (upload_id, token_hash)
    )`.execute(db);
  await sql`create index download_leases_due on files.download_leases (ends_at)`.execute(db);
  await sql`alter table files.uploads add column readers integer not null default 0`.execute(db);
}
