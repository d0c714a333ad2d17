import { NoRoom } from '@mayfly/shared/errors';
import { type Selectable, sql } from 'kysely';
import type { NewNote, Note, Notes, View } from '../notes.ts';
import { onceDone } from '../once-done.ts';
import { batched, batchedClaims, batchedFind, type Claims } from './batched.ts';
import type { Database } from './database.ts';
import { contentEraser, keyedViews } from './repeated-views.ts';
import type { NoteState, NotesTable } from './schema.ts';
import { countStored, NOTES, returned, withinCeiling } from './storage.ts';

/**
 * Availability now: what the sweep has settled, else what the count and the clock say. Nothing that an index could be asked: of a
 * table that was not analyzed yet PostgreSQL would rather read all of the sweep's than a few rows by their ids.
 */
const status = sql<NoteState>`case
  when state <> 'available' then state
  when view_count >= max_views then 'limit_reached'
  when expires_at <= now() then 'expired'
  else 'available' end`;

const COLUMNS = [
  'id',
  'owner_hash',
  'auth_hash',
  'salt',
  'content_type',
  'has_password',
  'password_algo',
  'password_salt',
  'view_count',
  'max_views',
  'expires_at',
  'created_at',
] as const;

/**
 * Longer content is stored, and fetched, by a statement of its own, two at once: a hundred of the largest notes must not
 * become one, and nobody else waits for them.
 */
const SMALL_LENGTH = 16 * 1024;
const ALONE = { most: 1 };

type ClaimedViews = Omit<View, 'viewCount'> & { id: string; granted: number; count: number; keptMs: number | null };

/** `maxBytes`: what the contents of all notes together may hold, as base64; no ceiling without it. */
export function postgresNotes(db: Database, { maxBytes }: { maxBytes?: number | undefined } = {}): Notes {
  /** With a ceiling, nothing is added before what is there already has been counted. */
  const whatIsStored = onceDone(() => countStored(db, NOTES));
  const add = async (all: readonly NewNote[]): Promise<({ expiresAt: Date } | NoRoom)[]> => {
    if (maxBytes !== undefined) await whatIsStored();
    const fresh = sql`
        select *, octet_length(encrypted_content) as bytes, now() + make_interval(secs => expire_sec) as expires_at
        from unnest(
          ${all.map(({ id }) => id)}::uuid[],
          ${all.map(({ ownerHash }) => ownerHash)}::bytea[],
          ${all.map(({ authHash }) => authHash)}::bytea[],
          ${all.map(({ salt }) => salt)}::text[],
          ${all.map(({ contentType }) => contentType)}::text[],
          ${all.map(({ password }) => password?.algo ?? null)}::text[],
          ${all.map(({ password }) => password?.salt ?? null)}::text[],
          ${all.map(({ encryptedContent }) => encryptedContent)}::text[],
          ${all.map(({ nonce }) => nonce)}::text[],
          ${all.map(({ maxViews }) => maxViews)}::int[],
          ${all.map(({ expireSec }) => expireSec)}::int[]
        ) as given (id, owner_hash, auth_hash, salt, content_type, password_algo, password_salt, encrypted_content, nonce,
          max_views, expire_sec)`;
    const wanted = all.map(({ encryptedContent }) => encryptedContent.length);
    const creation = { counter: NOTES.counter, maxBytes, wanted, fresh };
    const rows = await withinCeiling(creation, async (admitted) => {
      const inserted = await sql<{ id: string; expiresAt: Date }>`
      with ${admitted}
      insert into notes.notes (id, state, owner_hash, auth_hash, salt, content_type, has_password, password_algo,
        password_salt, encrypted_content, nonce, max_views, created_at, expires_at, due_at, held_bytes)
      select id, 'available', owner_hash, auth_hash, salt, content_type, password_algo is not null, password_algo,
        password_salt, encrypted_content, nonce, max_views, now(), expires_at, expires_at, held_bytes
      from admitted returning id, expires_at as "expiresAt"`.execute(db);
      return inserted.rows;
    });
    const added = new Map(rows.map(({ id, expiresAt }) => [id, { expiresAt }]));
    return all.map(({ id }) => added.get(id) ?? new NoRoom('NOTES_MAX_BYTES is reached'));
  };
  const addSmall = batched(add);
  const addLarge = batched(add, ALONE);

  const find = batchedFind(async (ids) => {
    const { rows } = await sql<NoteRow>`
      select ${sql.join(COLUMNS.map(sql.ref))}, ${status} as status, repeatable_until > now() as is_repeatable,
        coalesce(octet_length(encrypted_content), 0) as content_length -- known without reading the content
      from notes.notes where id = any(${ids}::uuid[])`.execute(db);
    return rows;
  });

  const eraseLater = contentEraser(db);
  const claimKeyedSmall = keyedViews(db, eraseLater);
  const claimKeyedLarge = keyedViews(db, eraseLater, ALONE);
  const claimViews = async (claims: Claims<{ id: string }>[]): Promise<ClaimedViews[]> => {
    // Rows are locked before they are read, so that the content that is erased is the content that is returned, and in the
    // order of their ids: so do all replicas, and nobody waits in a circle.
    const { rows } = await sql<ClaimedViews>`
      with claimed as materialized (
        select n.id, n.encrypted_content, n.nonce, least(wanted.count, n.max_views - n.view_count) as granted,
          -- With the last view it goes, unless a view with a key can still be repeated.
          n.view_count + wanted.count < n.max_views or n.repeatable_until > now() as stays
        from notes.notes n join unnest(
          ${claims.map(({ id }) => id)}::uuid[],
          ${claims.map(({ calls }) => calls.length)}::int[]
        ) as wanted (id, count) on wanted.id = n.id
        where ${status} = 'available'
        order by n.id for update of n
      )
      update notes.notes n set
        view_count = n.view_count + granted,
        encrypted_content = case when stays then n.encrypted_content end,
        nonce = case when stays then n.nonce end,
        recent_views = case when stays then n.recent_views end,
        due_at = case when n.view_count + granted < n.max_views then n.due_at else greatest(now(), n.repeatable_until) end
      from claimed where n.id = claimed.id
      returning n.id, granted, n.view_count as count, n.max_views as "maxViews",
        claimed.encrypted_content as "encryptedContent", claimed.nonce,
        case when n.view_count >= n.max_views and n.repeatable_until > now()
          then ceil(extract(epoch from n.repeatable_until - now()) * 1000)::int end as "keptMs"`.execute(db);
    for (const { id, keptMs } of rows) if (keptMs !== null) eraseLater(id, keptMs);
    return rows;
  };
  const claimSmall = batchedClaims(claimViews);
  const claimLarge = batchedClaims(claimViews, ALONE);

  return {
    add: (note) => (note.encryptedContent.length <= SMALL_LENGTH ? addSmall(note) : addLarge(note)),

    async find(id) {
      const row = await find(id);
      return row && toNote(row);
    },

    async claimView(id, repeat, contentLength = 0) {
      const isSmall = contentLength <= SMALL_LENGTH;
      if (repeat) return (isSmall ? claimKeyedSmall : claimKeyedLarge)(id, repeat);
      const claimed = await (isSmall ? claimSmall : claimLarge)({ id });
      if (!claimed) return undefined;
      const { encryptedContent, nonce, count, maxViews } = claimed;
      return { encryptedContent, nonce, viewCount: count, maxViews };
    },

    async remove(id) {
      const { rows } = await sql`
        with gone as (delete from notes.notes where id = ${id} returning id, held_bytes), ${returned(NOTES.counter)}
        select id from gone`.execute(db);
      return rows.length > 0;
    },

    async check() {
      await sql`select from notes.notes limit 0`.execute(db);
    },
  };
}

type NoteRow = Pick<Selectable<NotesTable>, (typeof COLUMNS)[number]> & {
  status: Note['status'];
  is_repeatable: boolean | null;
  content_length: number;
};

function toNote(row: NoteRow): Note {
  const { id, status, owner_hash: ownerHash } = row;
  if (status !== 'available' || !row.auth_hash || row.salt === null) {
    return {
      id,
      status: status === 'available' ? 'expired' : status,
      ownerHash,
      hasPassword: row.has_password,
      ...(status === 'limit_reached' && row.is_repeatable && row.auth_hash
        ? { authHash: row.auth_hash, contentLength: row.content_length }
        : {}),
    };
  }
  return {
    id,
    status,
    ownerHash,
    authHash: row.auth_hash,
    salt: row.salt,
    contentType: row.content_type,
    contentLength: row.content_length,
    ...(row.password_algo && row.password_salt
      ? { password: { algo: row.password_algo, salt: row.password_salt } }
      : {}),
    viewCount: row.view_count,
    maxViews: row.max_views,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}
