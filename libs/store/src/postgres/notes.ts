import { type Selectable, sql } from 'kysely';
import type { Note, Notes, View } from '../notes.ts';
import type { Database } from './database.ts';
import type { NoteState, NotesTable } from './schema.ts';
import { inSeconds } from './time.ts';

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

export function postgresNotes(db: Database): Notes {
  return {
    async add(note) {
      const { expires_at: expiresAt } = await db
        .insertInto('notes.notes')
        .values({
          id: note.id,
          state: 'available',
          owner_hash: note.ownerHash,
          auth_hash: note.authHash,
          salt: note.salt,
          content_type: note.contentType,
          has_password: note.password !== undefined,
          password_algo: note.password?.algo ?? null,
          password_salt: note.password?.salt ?? null,
          encrypted_content: note.encryptedContent,
          nonce: note.nonce,
          max_views: note.maxViews,
          created_at: sql`now()`,
          expires_at: inSeconds(note.expireSec),
          due_at: inSeconds(note.expireSec),
        })
        .returning('expires_at')
        .executeTakeFirstOrThrow();
      return { expiresAt };
    },

    async find(id) {
      const row = await db
        .selectFrom('notes.notes')
        .select(COLUMNS)
        .select(status.as('status'))
        .where('id', '=', id)
        .executeTakeFirst();
      return row && toNote(row);
    },

    async claimView(id) {
      // The row is locked before it is read, so that the content that is erased is the content that is returned.
      const { rows } = await sql<View>`
        with claimed as materialized (
          select id, encrypted_content, nonce from notes.notes
          where id = ${id} and state = 'available' and view_count < max_views and expires_at > now()
          for update
        )
        update notes.notes as n set
          view_count = n.view_count + 1,
          encrypted_content = case when n.view_count + 1 < n.max_views then n.encrypted_content end,
          nonce = case when n.view_count + 1 < n.max_views then n.nonce end,
          due_at = case when n.view_count + 1 < n.max_views then n.due_at else now() end
        from claimed where n.id = claimed.id and n.view_count < n.max_views
        returning claimed.encrypted_content as "encryptedContent", claimed.nonce,
          n.view_count as "viewCount", n.max_views as "maxViews"`.execute(db);
      return rows[0];
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
