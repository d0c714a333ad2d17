import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** What it takes, besides the secret, to open the metadata of an upload with a password: kept from whoever does not know it. */
export async function up(db: Kysely<Schema>): Promise<void> {
  await sql`alter table files.uploads add column meta_share text`.execute(db);
}
