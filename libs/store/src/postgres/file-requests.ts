import { NoRoom, Unavailable } from '@mayfly/shared/errors';
import { type Selectable, sql } from 'kysely';
import {
  type Drop,
  type DropVerdict,
  type FileRequest,
  type FileRequestSweep,
  type FileRequests,
  heldBytes,
  type ReceivedDrop,
} from '../file-requests.ts';
import { onceDone } from '../once-done.ts';
import { batchedFind } from './batched.ts';
import type { Database } from './database.ts';
import { dueIds, foundApart, sum, those } from './distributed.ts';
import { noted, unnoted } from './noted.ts';
import type { RequestsTable } from './schema.ts';
import { countStored, REQUESTS, returned, withinCeiling } from './storage.ts';
import { inSeconds } from './time.ts';
import type { UseTimes } from './use-times.ts';

const ALREADY_THERE = '23505';
const REFUSED_BY_A_NODE = 'XX000';

/** Availability now: what the sweep has settled, else what the clock says. */
export const status = sql<FileRequest['status']>`case
  when state = 'open' and expires_at > now() then 'open' else 'expired' end`;

/** `maxBytes`: what all requests together may hold, see `heldBytes`; no ceiling without it. */
export function postgresFileRequests(
  db: Database,
  { maxBytes, ...useTimes }: { maxBytes?: number | undefined } & UseTimes = {},
): FileRequests {
  const whatIsStored = onceDone(() => countStored(db, REQUESTS));
  const find = batchedFind(async (ids) => {
    const { rows } = await sql<Row>`
      select *, ${status} as status, (select count(*)::int from jsonb_each(hooks)) as hook_count
      from files.requests where id = any(${ids}::uuid[])`.execute(db);
    return rows;
  });

  /** True when it was counted; also when it had been, by whoever was first. */
  async function count(id: string, { uploadId, enc, sealed, bytes }: Drop): Promise<boolean> {
    try {
      const { rows } = await sql`
        with counted as (
          update files.requests set drop_count = drop_count + 1, byte_count = byte_count + ${bytes}::bigint
          where id = ${id} and state = 'open' and expires_at > now()
            and drop_count < max_drops and byte_count + ${bytes}::bigint <= max_bytes
          returning id, hooks, drop_count as number
        ), recorded as (
          insert into files.request_drops (request_id, upload_id, enc, sealed, bytes, number, at)
          select id, ${uploadId}::uuid, ${enc}, ${sealed}, ${bytes}::bigint, number,
            ${useTimes.keepsUseTimes === false ? sql`null` : sql`date_trunc('minute', now())`}
          from counted
        ), ${noted('files.requests', 'counted', 'dropped', sql`1`, useTimes)}
        select id from counted`.execute(db);
      return rows.length > 0;
    } catch (error) {
      // The statement is undone, with what it counted. What a node has refused comes without a reason of its own.
      const { code } = (error instanceof Unavailable ? error.cause : error) as { code?: unknown };
      if (code === ALREADY_THERE || (code === REFUSED_BY_A_NODE && (await isRecorded(id, uploadId)))) return true;
      throw error;
    }
  }

  async function isRecorded(id: string, uploadId: string): Promise<boolean> {
    const { rows } = await sql`
      select from files.request_drops where request_id = ${id} and upload_id = ${uploadId}`.execute(db);
    return rows.length > 0;
  }

  async function whyNot(id: string, { uploadId, bytes }: Drop): Promise<DropVerdict> {
    if (await isRecorded(id, uploadId)) return 'dropped';
    const now = await find(id);
    if (now?.status !== 'open') return 'gone';
    return now.drop_count < now.max_drops && now.byte_count + bytes > now.max_bytes ? 'no-room' : 'full';
  }

  return {
    async add(request) {
      if (maxBytes !== undefined) await whatIsStored();
      const { greeting, expireSec, dropExpireSec } = request;
      const bytes = heldBytes(request);
      const fresh = sql`select ${request.id}::uuid as id, ${bytes}::bigint as bytes`;
      const [added] = await withinCeiling(
        { counter: REQUESTS.counter, maxBytes, wanted: [bytes], fresh },
        async (admitted) => {
          const { rows } = await sql<{ expiresAt: Date }>`
          with ${admitted}
          insert into files.requests (id, state, owner_hash, public_key, greeting, nonce, max_drops, max_bytes,
            drop_expire_sec, drop_max_downloads, created_at, expires_at, due_at, held_bytes)
          select id, 'open', ${request.ownerHash}, ${request.publicKey}, ${greeting?.ciphertext ?? null}, ${greeting?.nonce ?? null},
            ${request.maxDrops}, ${request.maxBytes}, ${dropExpireSec}, ${request.dropMaxDownloads}, now(),
            ${inSeconds(expireSec)},
            ${inSeconds(expireSec + dropExpireSec)}, -- the last drop may live so long
            held_bytes
          from admitted returning expires_at as "expiresAt"`.execute(db);
          return rows;
        },
      );
      if (!added) throw new NoRoom('REQUESTS_STORAGE_MAX_BYTES is reached');
      return added;
    },

    async find(id) {
      const row = await find(id);
      return row && toRequest(row);
    },

    drop: async (id, drop) => ((await count(id, drop)) ? 'dropped' : whyNot(id, drop)),

    async drops(id) {
      const { rows } = await sql<Omit<ReceivedDrop, 'at'> & { at: Date | null }>`
        select upload_id as "uploadId", enc, sealed, bytes, at
        from files.request_drops where request_id = ${id} order by number`.execute(db);
      return rows.map(({ at, ...drop }) => (at ? { ...drop, at } : drop));
    },

    async setHooks(id, hooks) {
      const { rows } = await sql`
        update files.requests set hooks = coalesce(hooks, '{}') || ${JSON.stringify(hooks)}::jsonb
        where id = ${id} and state = 'open' and expires_at > now() returning id`.execute(db);
      return rows.length > 0;
    },

    async endHooks(id) {
      await sql`
        with gone as (
          update files.requests r set hooks = null from files.requests before
          where r.id = ${id} and before.id = r.id returning r.id, before.hooks
        ), ${unnoted('files.requests', those([id]))}
        select`.execute(db);
    },

    async remove(id) {
      return db.transaction().execute(async (transaction) => {
        // What is being dropped is there, or will not be, once the row is held.
        await sql`select from files.requests where id = ${id} for update`.execute(transaction);
        const { rows } = await sql`
          with gone as (
            delete from files.requests where id = ${id} returning id, hooks, held_bytes
          ), emptied as (
            delete from files.request_drops where request_id = ${id}
          ), ${returned(REQUESTS.counter)}, ${unnoted('files.requests', those([id]))}
          select id from gone`.execute(transaction);
        return rows.length > 0;
      });
    },
  };
}

export function postgresFileRequestSweep(db: Database): FileRequestSweep {
  const find = (state: RequestsTable['state'], limit: number) => dueIds(db, 'files.requests', [state], limit);
  return {
    async retire(limit, tombstoneTtlSec) {
      const counts = await foundApart(
        db,
        () => find('open', limit),
        async (are) => {
          const { rows } = await sql<{ count: number }>`
            with due as (
              select id, held_bytes from files.requests where ${are('id')} and state = 'open' and due_at <= now()
              order by due_at limit ${limit} for update skip locked
            ), retired as (
              update files.requests r set state = 'expired', public_key = null, greeting = null, nonce = null,
                due_at = ${inSeconds(tombstoneTtlSec)}, held_bytes = 0
              from due where ${are('r.id')} and r.id = due.id returning r.id, due.held_bytes
            ), emptied as (
              delete from files.request_drops d using retired where ${are('d.request_id')} and d.request_id = retired.id
            ), ${returned(REQUESTS.counter, 'retired')}
            select count(*)::int as count from retired`.execute(db);
          return rows[0]?.count ?? 0;
        },
      );
      return sum(counts);
    },

    async endTombstones(limit) {
      const counts = await foundApart(
        db,
        () => find('expired', limit),
        async (are) => {
          const { rows } = await sql`
            with due as (
              select id from files.requests where ${are('id')} and state = 'expired' and due_at <= now()
              order by due_at limit ${limit} for update skip locked
            ), gone as (
              delete from files.requests r using due where ${are('r.id')} and r.id = due.id returning r.id, r.hooks, r.held_bytes
            ), ${returned(REQUESTS.counter)}, ${unnoted('files.requests', are)}
            select id from gone`.execute(db);
          return rows.length;
        },
      );
      return sum(counts);
    },
  };
}

type Row = Selectable<RequestsTable> & { status: FileRequest['status']; hook_count: number };

function toRequest(row: Row): FileRequest {
  const { id, status, owner_hash: ownerHash, public_key: publicKey, greeting, nonce } = row;
  return {
    id,
    status,
    ownerHash,
    publicKey: publicKey ?? '',
    ...(greeting !== null && nonce !== null ? { greeting: { ciphertext: greeting, nonce } } : {}),
    maxDrops: row.max_drops,
    maxBytes: row.max_bytes,
    dropExpireSec: row.drop_expire_sec,
    dropMaxDownloads: row.drop_max_downloads,
    dropCount: row.drop_count,
    byteCount: row.byte_count,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    hookCount: row.hook_count,
  };
}
