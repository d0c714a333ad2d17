import { type Selectable, sql } from 'kysely';
import type { NewNote, Note, Notes, View } from '../notes.ts';
import { batched, batchedClaims, batchedFind } from './batched.ts';
import type { Database } from './database.ts';
import type { NoteState, NotesTable } from './schema.ts';

/** Availability now: what the sweep has settled, else what the count and the clock say. */
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

/** Longer content is stored by a statement of its own: a hundred of the largest notes must not become one. */
const SMALL_LENGTH = 16 * 1024;

type Claimed = Omit<View, 'viewCount'> & { id: string; granted: number; count: number };

export function postgresNotes(db: Database): Notes {
  const add = async (all: readonly NewNote[]): Promise<{ expiresAt: Date }[]> => {
    const { rows } = await sql<{ id: string; expiresAt: Date }>`
      insert into notes.notes (id, state, owner_hash, auth_hash, salt, content_type, has_password, password_algo,
        password_salt, encrypted_content, nonce, max_views, created_at, expires_at, due_at)
      select id, 'available', owner_hash, auth_hash, salt, content_type, password_algo is not null, password_algo,
        password_salt, encrypted_content, nonce, max_views, now(), expires_at, expires_at
      from (
        select *, now() + make_interval(secs => expire_sec) as expires_at from unnest(
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
          max_views, expire_sec)
      ) as fresh
      returning id, expires_at as "expiresAt"`.execute(db);
    const ends = new Map(rows.map(({ id, expiresAt }) => [id, expiresAt]));
    return all.map(({ id }) => ({ expiresAt: ends.get(id) as Date })); // each has its row, or the statement fails
  };
  const addSmall = batched(add);
  const addLarge = batched(add, { most: 1 });

  const find = batchedFind(async (ids) => {
    const { rows } = await sql<NoteRow>`
      select ${sql.join(COLUMNS.map(sql.ref))}, ${status} as status
      from notes.notes where id = any(${ids}::uuid[])`.execute(db);
    return rows;
  });

  const claim = batchedClaims<{ id: string }, Claimed>(async (claims) => {
    // Rows are locked before they are read, so that the content that is erased is the content that is returned, and in the
    // order of their ids: so do all replicas, and nobody waits in a circle.
    const { rows } = await sql<Claimed>`
      with claimed as materialized (
        select n.id, n.encrypted_content, n.nonce, least(wanted.count, n.max_views - n.view_count) as granted
        from notes.notes n join unnest(
          ${claims.map(({ id }) => id)}::uuid[],
          ${claims.map(({ calls }) => calls.length)}::int[]
        ) as wanted (id, count) on wanted.id = n.id
        where n.state = 'available' and n.view_count < n.max_views and n.expires_at > now()
        order by n.id for update of n
      )
      update notes.notes n set
        view_count = n.view_count + granted,
        encrypted_content = case when n.view_count + granted < n.max_views then n.encrypted_content end,
        nonce = case when n.view_count + granted < n.max_views then n.nonce end,
        due_at = case when n.view_count + granted < n.max_views then n.due_at else now() end
      from claimed where n.id = claimed.id
      returning n.id, granted, n.view_count as count, n.max_views as "maxViews",
        claimed.encrypted_content as "encryptedContent", claimed.nonce`.execute(db);
    return rows;
  });

  return {
    add: (note) => (note.encryptedContent.length <= SMALL_LENGTH ? addSmall(note) : addLarge(note)),

    async find(id) {
      const row = await find(id);
      return row && toNote(row);
    },

    async claimView(id) {
      const claimed = await claim({ id });
      if (!claimed) return undefined;
      const { encryptedContent, nonce, count, maxViews } = claimed;
      return { encryptedContent, nonce, viewCount: count, maxViews };
    },

    async remove(id) {
      const { numDeletedRows } = await db.deleteFrom('notes.notes').where('id', '=', id).executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },

    async check() {
      await sql`select from notes.notes limit 0`.execute(db);
    },
  };
}

type NoteRow = Pick<Selectable<NotesTable>, (typeof COLUMNS)[number]> & { status: Note['status'] };

function toNote(row: NoteRow): Note {
  const { id, status, owner_hash: ownerHash } = row;
  if (status !== 'available' || !row.auth_hash || row.salt === null) {
    return { id, status: status === 'available' ? 'expired' : status, ownerHash, hasPassword: row.has_password };
  }
  return {
    id,
    status,
    ownerHash,
    authHash: row.auth_hash,
    salt: row.salt,
    contentType: row.content_type,
    ...(row.password_algo && row.password_salt
      ? { password: { algo: row.password_algo, salt: row.password_salt } }
      : {}),
    viewCount: row.view_count,
    maxViews: row.max_views,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}
