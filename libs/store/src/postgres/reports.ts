import { type RawBuilder, sql } from 'kysely';
import {
  type Block,
  type Blocks,
  type Desk,
  type DeskSweep,
  type Evidence,
  type ItemKind,
  MOST_IN_ALL,
  MOST_OF_ITEM,
  type OpenReport,
  type ReportKind,
  type Reports,
} from '../reports.ts';
import type { Database } from './database.ts';
import { type Those, those } from './distributed.ts';
import { HELD_BY_THE_DELETION, NOTES, REQUESTS, returned } from './storage.ts';
import { inSeconds } from './time.ts';

/** Any number: reports are written one after the other, so that no more are kept than there may be. */
const ONE_AT_A_TIME = 7_260_421;
type Reported = { id: string; kind: ItemKind; auth_hash: Buffer | null };

/** Of what is reported: what is there, and what its tokens are compared with. */
async function reportedItems(db: Database, ids: string[]): Promise<Map<string, Reported>> {
  const are = those([...new Set(ids)])('id');
  const { rows } = await sql<Reported>`
    select id, 'upload' as kind, auth_hash from files.uploads where ${are}
    union all
    select id, 'note', auth_hash from notes.notes where ${are}
    union all
    select id, 'request', null from files.requests where ${are}`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Statements that never read an item: what they take does not depend on whether there is one. */
export function postgresReports(db: Database): Reports {
  return {
    async add(itemId, { kind, text, authHash, disclosed }) {
      await db.transaction().execute(async (transaction) => {
        await sql`select pg_advisory_xact_lock(${ONE_AT_A_TIME})`.execute(transaction);
        await sql`
          insert into desk.reports (item_id, number, report_kind, report_text, auth_hash, enc, sealed, at)
          select ${itemId}::uuid, free.number, ${kind}, ${text}, ${authHash ?? null}::bytea,
            ${disclosed?.enc ?? null}::text, ${disclosed?.sealed ?? null}::text, date_trunc('minute', now())
          from generate_series(1, ${MOST_OF_ITEM}::int) as free (number)
          where (free.number = ${MOST_OF_ITEM}::int
              or not exists (select from desk.reports r where r.item_id = ${itemId}::uuid and r.number = free.number))
            and (select count(*) from desk.reports) < ${MOST_IN_ALL}::int
          order by free.number limit 1
          -- A row is written in any case: one less would be quicker, and tell that there is an item whose reports are kept.
          on conflict (item_id, number) do update set report_kind = excluded.report_kind, report_text = excluded.report_text,
            auth_hash = excluded.auth_hash, enc = excluded.enc, sealed = excluded.sealed, at = excluded.at`.execute(
          transaction,
        );
      });
    },
  };
}

export function postgresBlocks(db: Database): Blocks {
  return {
    async find(id) {
      const { rows } = await sql<Block>`
        select item_kind as item, reason as kind, blocked_at as "blockedAt", owner_hash as "ownerHash",
          created_at as "createdAt", expires_at as "expiresAt", used_count as "usedCount", most_uses as "mostUses",
          whole_count as "wholeCount"
        from desk.blocks where item_id = ${id}::uuid and due_at > now()`.execute(db);
      return rows[0];
    },
  };
}

export function postgresDesk(db: Database): Desk {
  const read = async (which: RawBuilder<unknown>, limit: number): Promise<OpenReport[]> => {
    const { rows } = await sql<ReportRow>`
      select * from desk.reports where ${which} order by at, item_id, number limit ${limit}`.execute(db);
    const items = await reportedItems(
      db,
      rows.map(({ item_id: id }) => id),
    );
    return rows.map((row) => toReport(row, items.get(row.item_id)));
  };

  return {
    open: (limit) => read(sql`true`, limit),

    async find(itemId, number) {
      const [report] = await read(sql`item_id = ${itemId}::uuid and number = ${number}::int`, 1);
      return report;
    },

    async evidence(itemId) {
      const { rows } = await sql<EvidenceRow>`
        select 'upload' as item, has_password, salt, auth_hash, null as public_key
        from files.uploads where id = ${itemId}::uuid
        union all
        select 'note', has_password, salt, auth_hash, null from notes.notes where id = ${itemId}::uuid
        union all
        select 'request', false, null, null, public_key from files.requests where id = ${itemId}::uuid`.execute(db);
      const [row] = rows;
      if (!row) return undefined;
      return {
        item: row.item,
        hasPassword: row.has_password,
        ...(row.salt !== null ? { salt: row.salt } : {}),
        ...(row.auth_hash ? { authHash: row.auth_hash } : {}),
        ...(row.public_key !== null ? { publicKey: row.public_key } : {}),
      } satisfies Evidence;
    },

    async dismiss(itemId) {
      const { rows } = await sql`
        delete from desk.reports where item_id = ${itemId}::uuid returning number`.execute(db);
      return rows.length;
    },

    async block(itemId, kind, noticeSec) {
      for (const [item, erase] of ERASERS) {
        const { rows } = await sql`
          with ${erase(itemId, those([itemId]))}, blocked as (
            insert into desk.blocks (item_id, item_kind, reason, blocked_at, due_at, owner_hash, created_at, expires_at,
              used_count, most_uses, whole_count)
            select id, ${item}, ${kind}, now(), ${inSeconds(noticeSec)}, owner_hash, created_at, expires_at, used, most, whole
            from gone
          ), closed as (
            delete from desk.reports r using gone where r.item_id = gone.id
          )
          select id from gone`.execute(db);
        if (rows.length > 0) return item;
      }
      return undefined;
    },

    async unblock(itemId) {
      const { rows } = await sql`
        delete from desk.blocks where item_id = ${itemId}::uuid and due_at > now() returning item_id`.execute(db);
      return rows.length > 0;
    },

    async oldestSec() {
      const { rows } = await sql<{ id: string; seconds: number }>`
        select item_id as id, extract(epoch from now() - min(at))::float8 as seconds from desk.reports group by item_id`.execute(
        db,
      );
      const items = await reportedItems(
        db,
        rows.map(({ id }) => id),
      );
      return Math.max(0, ...rows.map(({ id, seconds }) => (items.has(id) ? seconds : 0)));
    },
  };
}

export function postgresDeskSweep(db: Database): DeskSweep {
  return {
    async endReports() {
      const { rows: all } = await sql<{ id: string }>`select distinct item_id as id from desk.reports`.execute(db);
      const ids = all.map(({ id }) => id);
      const items = await reportedItems(db, ids);
      const ofNothing = ids.filter((id) => !items.has(id));
      const { rows } = await sql`
        delete from desk.reports where item_id = any(${ofNothing}::uuid[]) returning number`.execute(db);
      return rows.length;
    },

    async endBlocks(limit) {
      const { rows } = await sql`
        delete from desk.blocks where item_id in (
          select item_id from desk.blocks where due_at <= now() order by due_at limit ${limit} for update skip locked
        ) returning item_id`.execute(db);
      return rows.length;
    },
  };
}

/**
 * Common table expressions that remove an item in whatever state, with `gone` for what is remembered of it. Rows are locked in the
 * order of upload-sessions.ts.
 */
const ERASERS: [ItemKind, (id: string, is: Those) => RawBuilder<unknown>][] = [
  [
    'upload',
    (id, is) => sql`
      item as materialized (
        select id from files.uploads where id = ${id}::uuid for update
      ), session as materialized (
        select id, store_ref from files.upload_sessions where ${is('id')} and exists (select from item) for update
      ), gone as (
        delete from files.uploads u using item where ${is('u.id')} and u.id = item.id
        returning u.id, u.owner_hash, u.created_at, u.expires_at, u.held_bytes, u.download_count as used,
          u.max_downloads as most, u.whole_count as whole
      ), ended as (
        delete from files.upload_sessions s using gone where ${is('s.id')} and s.id = gone.id
      ), untold as (
        delete from files.notices n using gone where ${is('n.item_id')} and n.item_id = gone.id
      ), queued as (
        insert into files.blob_deletions (id, held_bytes, store_ref)
        select gone.id, gone.held_bytes, session.store_ref from gone left join session on session.id = gone.id
        ${HELD_BY_THE_DELETION}
      )`,
  ],
  [
    'note',
    (id, is) => sql`
      gone as (
        delete from notes.notes where id = ${id}::uuid
        returning id, owner_hash, created_at, expires_at, held_bytes, view_count as used, max_views as most, 0 as whole
      ), untold as (
        delete from notes.notices n using gone where ${is('n.item_id')} and n.item_id = gone.id
      ), ${returned(NOTES.counter)}`,
  ],
  [
    'request',
    (id, is) => sql`
      gone as (
        delete from files.requests where id = ${id}::uuid
        returning id, owner_hash, created_at, expires_at, held_bytes, drop_count as used, max_drops as most, 0 as whole
      ), untold as (
        delete from files.request_notices n using gone where ${is('n.item_id')} and n.item_id = gone.id
      ), emptied as (
        delete from files.request_drops d using gone where ${is('d.request_id')} and d.request_id = gone.id
      ), ${returned(REQUESTS.counter)}`,
  ],
];

type EvidenceRow = {
  item: ItemKind;
  has_password: boolean;
  salt: string | null;
  auth_hash: Buffer | null;
  public_key: string | null;
};

type ReportRow = {
  item_id: string;
  number: number;
  report_kind: ReportKind;
  report_text: string;
  enc: string | null;
  sealed: string | null;
  at: Date;
  auth_hash: Buffer | null;
};

const toReport = ({ enc, sealed, ...row }: ReportRow, item: Reported | undefined): OpenReport => ({
  itemId: row.item_id,
  number: row.number,
  kind: row.report_kind,
  text: row.report_text,
  ...(enc !== null && sealed !== null ? { disclosed: { enc, sealed } } : {}),
  at: row.at,
  item: item?.kind,
  hadToken: item?.auth_hash && row.auth_hash ? item.auth_hash.equals(row.auth_hash) : undefined,
});
