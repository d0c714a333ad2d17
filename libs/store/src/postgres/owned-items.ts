import { sql } from 'kysely';
import type { OwnedItem, OwnedItems, Verdict } from '../owned-items.ts';
import { batchedFind } from './batched.ts';
import type { Database } from './database.ts';
import { those } from './distributed.ts';
import { isAvailable as noteIsAvailable, status as noteStatus } from './find-note.ts';
import { isAvailable as uploadIsAvailable, status as uploadStatus } from './find-upload.ts';
import { unnoted } from './noted.ts';
import { inSeconds } from './time.ts';

/** Where uploads and notes differ. */
const UPLOADS = {
  table: 'files.uploads' as const,
  used: 'download_count',
  most: 'max_downloads',
  status: uploadStatus,
  isAvailable: uploadIsAvailable,
  meta: sql`encrypted_meta is not null`,
  whole: sql`whole_count`,
  /** When the sweep comes for one that is used up. */
  overAt: sql`now()`,
};
const NOTES = {
  table: 'notes.notes' as const,
  used: 'view_count',
  most: 'max_views',
  status: noteStatus,
  isAvailable: noteIsAvailable,
  meta: sql`false`,
  whole: sql`0`,
  overAt: sql`greatest(now(), repeatable_until)`,
};

export const postgresOwnedUploads = (db: Database) => ownedItems(db, UPLOADS);
export const postgresOwnedNotes = (db: Database) => ownedItems(db, NOTES);

function ownedItems(db: Database, kind: typeof UPLOADS | typeof NOTES): OwnedItems {
  const { status, isAvailable, meta, whole, overAt } = kind;
  const [table, used, most] = [sql.table(kind.table), sql.ref(kind.used), sql.ref(kind.most)];

  const find = batchedFind(async (ids) => {
    const { rows } = await sql<OwnedItem & { id: string }>`
      select id, ${status} as status, owner_hash as "ownerHash", created_at as "createdAt", expires_at as "expiresAt",
        ${used} as "usedCount", ${most} as "mostUses", used_at as "usedAt", ${whole} as "wholeCount", ${meta} as "hasMeta",
        (select count(*)::int from jsonb_each(hooks)) as "hookCount"
      from ${table} where id = any(${ids}::uuid[]) and state <> 'pending'`.execute(db);
    return rows;
  });

  return {
    find,

    async setTerms(id, { expireSec, mostUses }, longestSec) {
      // The row is locked before it is judged, as by those who count a use.
      const { rows } = await sql<{ verdict: Verdict }>`
        with item as materialized (
          select id, ${status} as status, ${used} as used, coalesce(${mostUses ?? null}::int, ${most}) as most,
            case when ${expireSec ?? null}::int is null then expires_at
              else least(${inSeconds(sql`${expireSec ?? null}::int`)}, created_at + ${longestSec} * interval '1 second')
              end as ends_at, ${overAt} as over_at
          from ${table} where id = ${id} and state <> 'pending' for update
        ), judged as materialized (
          select id, used, most, ends_at, case when used >= most then over_at else ends_at end as due_at, case
            when status <> 'available' then 'gone'
            when most < used then 'used'
            else 'changed' end as verdict
          from item
        ), changed as (
          update ${table} i set
            ${most} = j.most, expires_at = j.ends_at, due_at = j.due_at
          from judged j where ${those([id])('i.id')} and i.id = j.id and j.verdict = 'changed'
        )
        select verdict from judged`.execute(db);
      return rows[0]?.verdict ?? 'gone';
    },

    async setHooks(id, hooks) {
      const { rows } = await sql`
        update ${table} set hooks = coalesce(hooks, '{}') || ${JSON.stringify(hooks)}::jsonb
        where id = ${id} and ${isAvailable} returning id`.execute(db);
      return rows.length > 0;
    },

    async endHooks(id) {
      await sql`
        with gone as (
          update ${table} i set hooks = null from ${table} before
          where i.id = ${id} and before.id = i.id returning i.id, before.hooks
        ), ${unnoted(kind.table, those([id]))}
        select`.execute(db);
    },
  };
}
