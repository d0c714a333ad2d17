import { sql } from 'kysely';
import type { NoteSweep, PartedDeletion, Retired, UploadSweep } from '../sweep.ts';
import type { Database } from './database.ts';
import { ANY, dueIds, foundApart, sum, type Those } from './distributed.ts';
import { givenBack } from './download-leases.ts';
import { unnoted } from './noted.ts';
import { HELD_BY_THE_DELETION, type Kind, NOTES, returned, UPLOADS } from './storage.ts';
import { inSeconds } from './time.ts';

/** How long a blob that was handed out for deletion is left to whoever took it, doubled with each attempt. */
const DELETION_RETRY_SEC = 60;

/**
 * A tombstone keeps the owner token's hash, hooks that may still have to be told, and nothing else that was secret. Decisions
 * tombstone-keeps-owner-hash and notices-in-an-outbox.
 */
const ERASED = sql`
  auth_hash = null, salt = null, password_algo = null, password_salt = null,
  encrypted_meta = null, nonce = null, meta_share = null, leased_until = null`;

const COUNTED = sql`
  select count(*)::int as count, (count(*) filter (where used < most))::int as expired,
    (count(*) filter (where used = 0 and most > 0))::int as unused
  from retired`;
const NOBODY: Retired = { count: 0, expired: 0, unused: 0 };

export function postgresUploadSweep(db: Database): UploadSweep {
  return {
    async endLeases(limit) {
      const find = async () => {
        const { rows } = await sql<{ id: string }>`
          select distinct id from (
            select upload_id as id from files.download_leases where ends_at <= now() order by ends_at limit ${limit}
          ) as due`.execute(db);
        return rows.map(({ id }) => id);
      };
      const counts = await foundApart(db, find, async (are) => {
        const { rows } = await sql<{ count: number }>`
          with due as materialized (
            select upload_id, token_hash from files.download_leases where ${are('upload_id')} and ends_at <= now()
            order by ends_at limit ${limit} for update skip locked
          ), ended as (
            delete from files.download_leases l using due
            where ${are('l.upload_id')} and l.upload_id = due.upload_id and l.token_hash = due.token_hash
            returning l.upload_id, l.sent_bytes, false as is_whole
          ), given_back as (${givenBack(are)})
          select count(*)::int as count from ended`.execute(db);
        return rows[0]?.count ?? 0;
      });
      return sum(counts);
    },

    async retire(limit, tombstoneTtlSec) {
      const isDue = (are: Those) => sql`
        ${are('u.id')} and state = 'available' and due_at <= now()
        and (readers = 0 or leased_until is null or leased_until <= now())
        and not exists (select from files.download_leases l where ${are('l.upload_id')} and l.upload_id = u.id)`;
      const find = async () => {
        const { rows } = await sql<{ id: string }>`
          select id from files.uploads u where ${isDue(ANY)} order by due_at limit ${limit}`.execute(db);
        return rows.map(({ id }) => id);
      };
      const all = await foundApart(db, find, async (are) => {
        const { rows } = await sql<Retired>`
          with due as (
            select id, held_bytes from files.uploads u where ${isDue(are)}
            order by due_at limit ${limit} for update skip locked
          ), retired as (
            update files.uploads u set
              state = case when download_count >= max_downloads then 'limit_reached' else 'expired' end,
              ${ERASED},
              due_at = ${inSeconds(tombstoneTtlSec)}, held_bytes = 0
            from due where ${are('u.id')} and u.id = due.id
            returning u.id, due.held_bytes, u.download_count as used, u.max_downloads as most
          ), queued as (
            insert into files.blob_deletions (id, held_bytes) select id, held_bytes from retired ${HELD_BY_THE_DELETION}
          )
          ${COUNTED}`.execute(db);
        return rows[0] ?? NOBODY;
      });
      return allRetired(all);
    },

    async reapAbandoned(limit) {
      const find = async () => {
        const { rows } = await sql<{ id: string }>`
          select id from files.uploads where state = 'pending' and due_at <= now() and leased_until <= now()
          order by due_at limit ${limit}`.execute(db);
        return rows.map(({ id }) => id);
      };
      const counts = await foundApart(db, find, async (are) => {
        const { rows } = await sql`
          with due as (
            select id from files.uploads
            where ${are('id')} and state = 'pending' and due_at <= now() and leased_until <= now()
            order by due_at limit ${limit} for update skip locked
          ), gone as (
            delete from files.uploads u using due where ${are('u.id')} and u.id = due.id returning u.id, u.held_bytes
          ), ended as (
            delete from files.upload_sessions s using gone where ${are('s.id')} and s.id = gone.id returning s.id, s.store_ref
          ), queued as (
            insert into files.blob_deletions (id, held_bytes, store_ref)
            select gone.id, gone.held_bytes, ended.store_ref from gone left join ended on ended.id = gone.id
            ${HELD_BY_THE_DELETION}
          )
          select id from gone`.execute(db);
        return rows.length;
      });
      return sum(counts);
    },

    endTombstones: (limit) => endTombstones(db, UPLOADS, limit),

    async takeDeletions(limit) {
      const find = async () => {
        const { rows } = await sql<{ id: string }>`
          select id from files.blob_deletions where due_at <= now() order by due_at limit ${limit}`.execute(db);
        return rows.map(({ id }) => id);
      };
      const taken = await foundApart(db, find, async (are) => {
        const { rows } = await sql<{ id: string }>`
          with due as materialized (
            select id, ${inSeconds(sql`${DELETION_RETRY_SEC} * power(2, least(attempts, 10))`)} as again_at
            from files.blob_deletions where ${are('id')} and due_at <= now()
            order by due_at limit ${limit} for update skip locked
          )
          update files.blob_deletions b set attempts = b.attempts + 1, due_at = due.again_at
          from due where ${are('b.id')} and b.id = due.id returning b.id`.execute(db);
        return rows.map(({ id }) => id);
      });
      return taken.flat();
    },

    async partedDeletions(ids) {
      const { rows } = await sql<PartedDeletion>`
        select id, store_ref as "storeRef", attempts > 1 as "isRepeated" from files.blob_deletions
        where id = any(${ids}::uuid[]) and store_ref is not null`.execute(db);
      return rows;
    },

    async partsDeleted(id) {
      await db.deleteFrom('files.upload_parts').where('id', '=', id).execute();
    },
  };
}

export function postgresNoteSweep(db: Database): NoteSweep {
  return {
    async retire(limit, tombstoneTtlSec) {
      const find = () => dueIds(db, 'notes.notes', ['available'], limit);
      const all = await foundApart(db, find, async (are) => {
        const { rows } = await sql<Retired>`
          with due as (
            select id, held_bytes from notes.notes where ${are('id')} and state = 'available' and due_at <= now()
            order by due_at limit ${limit} for update skip locked
          ), retired as (
            update notes.notes n set
            state = case when view_count >= max_views then 'limit_reached' else 'expired' end,
            auth_hash = null, salt = null, password_algo = null, password_salt = null,
            encrypted_content = null, nonce = null, recent_views = null, repeatable_until = null,
            due_at = ${inSeconds(tombstoneTtlSec)}, held_bytes = 0
            from due where ${are('n.id')} and n.id = due.id
            returning due.held_bytes, n.view_count as used, n.max_views as most
          ), ${returned(NOTES.counter, 'retired')}
          ${COUNTED}`.execute(db);
        return rows[0] ?? NOBODY;
      });
      return allRetired(all);
    },

    endTombstones: (limit) => endTombstones(db, NOTES, limit),
  };
}

const allRetired = (all: Retired[]): Retired => ({
  count: sum(all.map(({ count }) => count)),
  expired: sum(all.map(({ expired }) => expired)),
  unused: sum(all.map(({ unused }) => unused)),
});

async function endTombstones(db: Database, { items, counter }: Kind, limit: number): Promise<number> {
  const table = sql.table(items);
  const find = () => dueIds(db, items, ['expired', 'limit_reached'], limit);
  const counts = await foundApart(db, find, async (are) => {
    const { rows } = await sql`
      with due as materialized (
        select id from ${table} where ${are('id')} and state in ('expired', 'limit_reached') and due_at <= now()
        limit ${limit} for update skip locked
      ), gone as (
        delete from ${table} i using due where ${are('i.id')} and i.id = due.id returning i.id, i.held_bytes, i.hooks
      ), ${returned(counter)}, ${unnoted(items, are)}
      select id from gone`.execute(db);
    return rows.length;
  });
  return sum(counts);
}
