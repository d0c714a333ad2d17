import { randomUUID } from 'node:crypto';
import { NoRoom } from '@mayfly/shared/errors';
import { sql } from 'kysely';
import { onceDone } from '../once-done.ts';
import { bytesOfPart, type Part, type UploadSessions } from '../upload-sessions.ts';
import { batchedFind } from './batched.ts';
import type { Database } from './database.ts';
import { those } from './distributed.ts';
import { countStored, HELD_BY_THE_DELETION, returned, UPLOADS } from './storage.ts';
import { inSeconds } from './time.ts';

// Locks are taken in this order: the upload's row, the session's, those of its parts. Then nobody waits in a circle.

/** After so long a store has put away, or dropped, what it was sent. */
const LATE_PART_SEC = 60;

const LIFETIME = sql`extract(epoch from u.expires_at - u.created_at)`;

type SessionRow = {
  id: string;
  store_ref: string;
  part_bytes: number;
  is_exact: boolean;
  is_announced: boolean;
  is_sealed: boolean;
  has_ended: boolean;
  ends_at: Date;
  size: number;
  owner_hash: Buffer;
};

const noRoom = () => new NoRoom('STORAGE_MAX_BYTES is reached');

/** `maxBytes`: what all uploads together may hold; a session holds what has come of it, and is coming. No ceiling without it. */
export function postgresUploadSessions(
  db: Database,
  { maxBytes }: { maxBytes?: number | undefined } = {},
): UploadSessions {
  const whatIsStored = onceDone(() => countStored(db, UPLOADS));

  const find = batchedFind(async (ids) => {
    const { rows } = await sql<SessionRow>`
      select s.id, s.store_ref, s.part_bytes, s.is_exact, s.is_announced, s.seal is not null as is_sealed, s.ends_at,
        s.ends_at <= now() as has_ended, u.size, u.owner_hash
      from files.upload_sessions s join files.uploads u on u.id = s.id
      where s.id = any(${ids}::uuid[])`.execute(db);
    return rows;
  });

  async function parts(id: string): Promise<Part[]> {
    const { rows } = await sql<Part>`
      select number, bytes, tag from files.upload_parts where id = ${id} order by number`.execute(db);
    return rows;
  }

  return {
    async begin(upload, { storeRef, partBytes, isExact, isAnnounced, sessionSec }) {
      if (maxBytes !== undefined) await whatIsStored();
      const { id, sizeBytes, ownerHash, authHash, salt, fileCount, password, maxDownloads, expireSec } = upload;
      // Only asked: what comes meanwhile is found by the parts.
      const fits =
        maxBytes === undefined
          ? sql`true`
          : sql`(select bytes from files.storage) + ${sizeBytes}::bigint <= ${maxBytes}::bigint`;
      const { rows } = await sql<{ ends_at: Date }>`
        with upload as (
          insert into files.uploads (id, state, owner_hash, auth_hash, salt, size, file_count, has_password, password_algo,
            password_salt, max_downloads, leased_until, created_at, expires_at, due_at)
          select ${id}::uuid, 'pending', ${ownerHash}::bytea, ${authHash}::bytea, ${salt}::text, ${sizeBytes}::bigint,
            ${fileCount}::int, ${password !== undefined}::boolean, ${password?.algo ?? null}::text,
            ${password?.salt ?? null}::text, ${maxDownloads}::int, ${inSeconds(sessionSec)}, now(), ${inSeconds(expireSec)},
            ${inSeconds(sessionSec)}
          where ${fits} returning id, due_at
        )
        insert into files.upload_sessions (id, store_ref, part_bytes, is_exact, is_announced, ends_at)
        select id, ${storeRef}::text, ${partBytes}::int, ${isExact}::boolean, ${isAnnounced}::boolean, due_at
        from upload returning ends_at`.execute(db);
      const [begun] = rows;
      if (!begun) throw noRoom();
      return begun.ends_at;
    },

    async find(id) {
      const row = await find(id);
      return (
        row && {
          id,
          storeRef: row.store_ref,
          partBytes: row.part_bytes,
          isExact: row.is_exact,
          isAnnounced: row.is_announced,
          isSealed: row.is_sealed,
          hasEnded: row.has_ended,
          endsAt: row.ends_at,
          mostBytes: row.size,
          ownerHash: row.owner_hash,
        }
      );
    },

    parts,

    async part(id, number) {
      const { rows } = await sql<Part & { digest: Buffer | null }>`
        select number, bytes, tag, digest from files.upload_parts where id = ${id} and number = ${number}`.execute(db);
      const [row] = rows;
      if (!row) return undefined;
      const { digest, ...part } = row;
      return digest ? { ...part, digest } : part;
    },

    async hold(id, bytes) {
      const is = those([id]);
      if (maxBytes === undefined) return;
      await whatIsStored();
      const { rows } = await sql<{ is_held: boolean }>`
        with upload as materialized (
          select id from files.uploads where id = ${id} and state = 'pending' for update
        ), room as (
          update files.storage set bytes = bytes + ${bytes}::bigint from upload
          where bytes + ${bytes}::bigint <= ${maxBytes}::bigint returning upload.id
        ), held as (
          update files.uploads u set held_bytes = u.held_bytes + ${bytes}::bigint from room where ${is('u.id')} and u.id = room.id
        )
        select exists (select from room) as is_held from upload`.execute(db);
      if (rows[0]?.is_held === false) throw noRoom();
    },

    async letGo(id, bytes) {
      const is = those([id]);
      if (maxBytes === undefined) return;
      await sql`
        with upload as materialized (
          select id, held_bytes from files.uploads where id = ${id} and state = 'pending' for update
        ), gone as (
          update files.uploads u set held_bytes = greatest(u.held_bytes - ${bytes}::bigint, 0) from upload
          where ${is('u.id')} and u.id = upload.id returning upload.held_bytes - u.held_bytes as held_bytes
        ), ${returned(UPLOADS.counter)}
        select`.execute(db);
    },

    async record(id, { number, bytes, tag, digest }) {
      // Shared with other parts, but not with a seal: what is sealed stays as it is, and what came before is in it.
      const { rows } = await sql<{ replaced_tag: string | null }>`
        with taking as materialized (
          select id from files.upload_sessions where id = ${id} and seal is null and ends_at > now() for share
        )
        insert into files.upload_parts as part (id, number, bytes, tag, digest)
        select id, ${number}::int, ${bytes}::int, ${tag}::text, ${digest ?? null}::bytea from taking
        on conflict (id, number) do update set
          bytes = excluded.bytes, tag = excluded.tag, digest = excluded.digest, replaced_tag = part.tag
        returning replaced_tag`.execute(db);
      const [row] = rows;
      if (!row) return undefined;
      return row.replaced_tag === null ? {} : { replacedTag: row.replaced_tag };
    },

    async seal(id, lengthBytes) {
      await sql`
        update files.upload_sessions s set seal = ${randomUUID()}, sealed_bytes = stored.bytes
        from (
          select count(*) as count, coalesce(sum(bytes), 0) as bytes, max(number) as last,
            coalesce(max(bytes) filter (where rank = 1), 0) as last_bytes,
            coalesce(min(bytes) filter (where rank > 1), 0) as least,
            coalesce(max(bytes) filter (where rank > 1), 0) as most
          from (
            select number, bytes, row_number() over (order by number desc) as rank from files.upload_parts where id = ${id}
          ) as numbered
        ) as stored
        where s.id = ${id} and s.seal is null and s.ends_at > now() and stored.count = stored.last
          and stored.bytes = ${lengthBytes}::bigint and stored.last_bytes <= s.part_bytes
          and (stored.count = 1 or (stored.least = s.part_bytes and stored.most = s.part_bytes))`.execute(db);
      // Read after that: a part that was recorded while the seal waited for it is in the seal, too. And in one statement: whoever
      // publishes meanwhile takes the parts away.
      const { rows } = await sql<Part & { seal: string; part_bytes: number }>`
        select s.seal, s.part_bytes, p.number, p.bytes, p.tag
        from files.upload_sessions s join files.upload_parts p on p.id = s.id
        where s.id = ${id} and s.sealed_bytes = ${lengthBytes}::bigint and s.ends_at > now() order by p.number`.execute(
        db,
      );
      const [sealed] = rows;
      if (!sealed) return undefined;
      const { seal, part_bytes: partBytes } = sealed;
      const all: Part[] = rows.map(({ number, bytes, tag }) => ({ number, bytes, tag }));
      const misfits = all.filter(({ number, bytes }) => bytes !== bytesOfPart(number, lengthBytes, partBytes));
      if (misfits.length === 0) return { seal, parts: all };
      await unseal(
        id,
        seal,
        misfits.map(({ number }) => number),
      );
      return undefined;
    },

    unseal,

    async publish(id, lengthBytes, meta) {
      const is = those([id]);
      // To the byte, whatever tries were killed, or came while there was no ceiling.
      const held =
        maxBytes === undefined ? sql`least(u.held_bytes, ${lengthBytes}::bigint)` : sql`${lengthBytes}::bigint`;
      const { rows } = await sql<{ given_back: number }>`
        with upload as materialized (
          select id, size, held_bytes from files.uploads where id = ${id} and state = 'pending' for update
        ), session as materialized (
          select id from files.upload_sessions where ${is('id')} and seal is not null and exists (select from upload) for update
        ), published as (
          update files.uploads u set
            state = 'available', leased_until = null, size = ${lengthBytes}::bigint,
            held_bytes = ${held},
            encrypted_meta = ${meta?.encryptedMeta ?? null}::text, nonce = ${meta?.nonce ?? null}::text,
            meta_share = ${meta?.share ?? null}::text,
            created_at = now(), expires_at = ${inSeconds(LIFETIME)}, due_at = ${inSeconds(LIFETIME)}
          from session where ${is('u.id')} and u.id = session.id returning u.id, u.held_bytes
        ), ended as (
          delete from files.upload_sessions s using published where ${is('s.id')} and s.id = published.id
        ), parts as (
          delete from files.upload_parts p using published where ${is('p.id')} and p.id = published.id
        ), counted as (
          update files.storage as storage set bytes = greatest(storage.bytes + published.held_bytes - upload.held_bytes, 0)
          from upload join published on published.id = upload.id where published.held_bytes <> upload.held_bytes
        )
        select upload.size - ${lengthBytes}::bigint as given_back
        from upload join published on published.id = upload.id`.execute(db);
      const [published] = rows;
      if (published) return { givenBackBytes: published.given_back };
      const before = await sql`select from files.uploads where id = ${id} and state <> 'pending'`.execute(db);
      return before.rows.length > 0 ? {} : undefined;
    },

    async cancel(id) {
      const is = those([id]);
      const { rows } = await sql<{ size: number; store_ref: string }>`
        with upload as materialized (
          select id from files.uploads where id = ${id} and state = 'pending' for update
        ), session as materialized (
          select id, store_ref from files.upload_sessions where ${is('id')} and exists (select from upload) for update
        ), gone as (
          delete from files.uploads u using session where ${is('u.id')} and u.id = session.id
          returning u.id, u.size, u.held_bytes, session.store_ref
        ), ended as (
          delete from files.upload_sessions s using gone where ${is('s.id')} and s.id = gone.id
        ), parts as (
          delete from files.upload_parts p using gone where ${is('p.id')} and p.id = gone.id
        ), queued as (
          -- Whoever cancels deletes what is there; what comes late is deleted after this time.
          insert into files.blob_deletions (id, due_at, attempts, held_bytes, store_ref)
          select id, ${inSeconds(LATE_PART_SEC)}, 1, held_bytes, store_ref from gone ${HELD_BY_THE_DELETION}
        )
        select size, store_ref from gone`.execute(db);
      const [gone] = rows;
      return gone && { givenBackBytes: gone.size, storeRef: gone.store_ref };
    },
  };

  async function unseal(id: string, seal: string, numbers: number[]): Promise<void> {
    await sql`
      with session as (
        update files.upload_sessions set seal = null, sealed_bytes = null where id = ${id} and seal = ${seal} returning id
      )
      delete from files.upload_parts p using session
      where p.id = ${id} and p.id = session.id and p.number = any(${numbers}::int[])`.execute(db);
  }
}
