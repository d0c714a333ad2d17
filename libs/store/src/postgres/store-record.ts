import { sql } from 'kysely';
import type { StoreRecord } from '../marker.ts';
import type { Database } from './database.ts';

export function postgresStoreRecord(db: Database): StoreRecord {
  const read = async () => {
    const row = await db.selectFrom('files.blob_store').select(['id', 'marked_at']).executeTakeFirst();
    return row && { id: row.id, isMarked: row.marked_at !== null };
  };
  return {
    read,

    async settle(id) {
      await sql`insert into files.blob_store (id) values (${id}) on conflict do nothing`.execute(db);
      return (await read())?.id ?? id;
    },

    async marked() {
      await sql`update files.blob_store set marked_at = coalesce(marked_at, now())`.execute(db);
    },

    async hasUploads() {
      const { rows } = await sql`select id from files.uploads where state <> 'pending' limit 1`.execute(db);
      return rows.length > 0;
    },

    async sample(limit) {
      const { rows } = await sql<{ id: string }>`
        select id from files.uploads where state = 'available' and lost_at is null and due_at > now()
        order by id limit ${limit}`.execute(db);
      return rows.map(({ id }) => id);
    },
  };
}
