import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** Whom to tell of uses, in the item's own row, and what is still to be told. Rounded down, it is due at once. */
export async function up(db: Kysely<Schema>): Promise<void> {
  for (const [schema, items] of [
    ['files', 'uploads'],
    ['notes', 'notes'],
  ] as const) {
    await sql`alter table ${sql.id(schema, items)} add column hooks jsonb`.execute(db);
    await sql`
      create table ${sql.id(schema, 'notices')} (
        id uuid primary key default gen_random_uuid(),
        item_id uuid not null,
        kind text not null,
        host text not null,
        event text not null,
        at timestamptz(0),
        attempts integer not null default 0,
        due_at timestamptz(3) not null default date_trunc('milliseconds', now())
      )`.execute(db);
    await sql`create index notices_due on ${sql.id(schema, 'notices')} (due_at)`.execute(db);
    await sql`create index notices_of_items on ${sql.id(schema, 'notices')} (item_id)`.execute(db);
  }
}
