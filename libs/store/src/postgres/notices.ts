import { sql } from 'kysely';
import { MOST_ATTEMPTS, type Notice, type Notices, RETRY_AFTER_SEC } from '../notices.ts';
import type { Database } from './database.ts';
import { type Items, NOTICES } from './noted.ts';

/** Of what is due: so that a heap of notices costs a look little. */
const MOST_LOOKED_AT = 5_000;
const MOST_COUNTED = 100_000;

export const postgresUploadNotices = (db: Database) => notices(db, 'files.uploads');
export const postgresRequestNotices = (db: Database) => notices(db, 'files.requests');
export const postgresNoteNotices = (db: Database) => notices(db, 'notes.notes');

// A row of an item is locked before those of its notices: so do those who remove an item or end its hooks.

function notices(db: Database, of: Items): Notices {
  const [items, table] = [sql.table(of), sql.table(NOTICES[of])];
  return {
    async take({ limit, perHost, busyHosts }) {
      const { rows } = await sql<Omit<Notice, 'at'> & { at: Date | null; isDropped: boolean }>`
        with oldest as materialized (
          select id, host, due_at from ${table} where due_at <= now() and host <> all(${busyHosts}::text[])
          order by due_at limit ${MOST_LOOKED_AT}
        ), chosen as materialized (
          select id from (select id, due_at, row_number() over (partition by host order by due_at) as place from oldest) as ranked
          where place <= ${perHost} order by due_at limit ${limit}
        ), due as materialized (
          select id, item_id, kind, attempts from ${table}
          where id in (select id from chosen) and due_at <= now() for update skip locked
        ), hooked as (
          select due.id, i.hooks -> due.kind as hook, i.hooks -> due.kind is null or due.attempts >= ${MOST_ATTEMPTS} as is_dropped
          from due left join ${items} i on i.id = due.item_id
        ), dropped as (
          delete from ${table} n using hooked h where n.id = h.id and h.is_dropped
        ), taken as (
          update ${table} n set
            attempts = n.attempts + 1,
            due_at = now() + make_interval(secs => (${RETRY_AFTER_SEC}::int[])[n.attempts + 1])
          from hooked h where n.id = h.id and not h.is_dropped returning n.id, n.kind, n.event, n.at
        )
        select h.id, t.kind, t.event, t.at, h.hook, h.is_dropped as "isDropped" from hooked h left join taken t on t.id = h.id`.execute(
        db,
      );
      const taken = rows.filter(({ isDropped }) => !isDropped);
      return {
        taken: taken.map(({ id, kind, event, at, hook }) => ({ id, kind, event, at: at ?? undefined, hook }) as Notice),
        dropped: rows.length - taken.length,
      };
    },

    async settle(id) {
      await sql`delete from ${table} where id = ${id}`.execute(db);
    },

    async endHook({ id, hook }) {
      await sql`
        with item as materialized (
          select i.id, n.kind from ${items} i join ${table} n on n.item_id = i.id where n.id = ${id}
            and i.hooks -> n.kind = ${JSON.stringify(hook)}::jsonb for update of i
        ), gone as (
          delete from ${table} n using item where n.item_id = item.id and n.kind = item.kind
        )
        update ${items} i set hooks = nullif(i.hooks - item.kind, '{}') from item where i.id = item.id`.execute(db);
    },

    async waiting() {
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from (select from ${table} limit ${MOST_COUNTED}) as noted`.execute(db);
      return rows[0]?.count ?? 0;
    },
  };
}
