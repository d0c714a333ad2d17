import { sql } from 'kysely';
import { MOST_ATTEMPTS, type Notice, type Notices, RETRY_AFTER_SEC } from '../notices.ts';
import type { Database } from './database.ts';
import { foundApart, those } from './distributed.ts';
import { type Items, NOTICES } from './noted.ts';
import { inSeconds } from './time.ts';

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
      const choice = sql`
        with oldest as materialized (
          select id, item_id, host, due_at from ${table} where due_at <= now() and host <> all(${busyHosts}::text[])
          order by due_at limit ${MOST_LOOKED_AT}
        )
        select id, item_id from (
          select id, item_id, due_at, row_number() over (partition by host order by due_at) as place from oldest
        ) as ranked where place <= ${perHost} order by due_at limit ${limit}`;
      let isChosen = sql`id in (select id from (${choice}) as chosen)`;
      const find = async () => {
        const { rows } = await sql<{ id: string; item_id: string }>`${choice}`.execute(db);
        isChosen = those(rows.map(({ id }) => id))('id');
        return [...new Set(rows.map(({ item_id: itemId }) => itemId))];
      };
      const all = await foundApart(db, find, async (are) => {
        const { rows } = await sql<Omit<Notice, 'at'> & { at: Date | null; isDropped: boolean }>`
          with due as materialized (
            select id, item_id, kind, attempts, ${inSeconds(sql`(${RETRY_AFTER_SEC}::int[])[attempts + 1]`)} as again_at
            from ${table} where ${are('item_id')} and ${isChosen} and due_at <= now() for update skip locked
          ), hooked as materialized (
            select due.id, due.again_at, i.hooks -> due.kind as hook,
              i.hooks -> due.kind is null or due.attempts >= ${MOST_ATTEMPTS} as is_dropped
            from due left join ${items} i on i.id = due.item_id and ${are('i.id')}
          ), dropped as (
            delete from ${table} n using hooked h where ${are('n.item_id')} and n.id = h.id and h.is_dropped
          ), taken as (
            update ${table} n set attempts = n.attempts + 1, due_at = h.again_at
            from hooked h where ${are('n.item_id')} and n.id = h.id and not h.is_dropped
            returning n.id, n.item_id, n.kind, n.event, n.at
          )
          select h.id, t.item_id as "itemId", t.kind, t.event, t.at, h.hook, h.is_dropped as "isDropped"
          from hooked h left join taken t on t.id = h.id`.execute(db);
        return rows;
      });
      const rows = all.flat();
      const taken = rows.filter(({ isDropped }) => !isDropped);
      return {
        taken: taken.map(({ isDropped: _, at, ...notice }) => ({ ...notice, at: at ?? undefined }) as Notice),
        dropped: rows.length - taken.length,
      };
    },

    async settle({ id, itemId }) {
      await sql`delete from ${table} where item_id = ${itemId} and id = ${id}`.execute(db);
    },

    async endHook({ itemId, kind, hook }) {
      await sql`
        with item as materialized (
          select id from ${items} where id = ${itemId} and hooks -> ${kind}::text = ${JSON.stringify(hook)}::jsonb for update
        ), gone as (
          delete from ${table} n using item where n.item_id = ${itemId} and n.item_id = item.id and n.kind = ${kind}
        )
        update ${items} i set hooks = nullif(i.hooks - ${kind}::text, '{}') from item
        where i.id = ${itemId} and i.id = item.id`.execute(db);
    },

    async waiting() {
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from (select item_id from ${table} limit ${MOST_COUNTED}) as noted`.execute(db);
      return rows[0]?.count ?? 0;
    },
  };
}
