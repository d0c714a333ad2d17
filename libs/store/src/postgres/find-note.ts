import { type Selectable, sql } from 'kysely';
import type { Note, Notes } from '../notes.ts';
import { batchedFind } from './batched.ts';
import type { Database } from './database.ts';
import { availableItem, goneItem, ITEM_COLUMNS } from './items.ts';
import type { NoteState, NotesTable } from './schema.ts';

/**
 * Availability now: what the sweep has settled, else what the count and the clock say. Nothing that an index could be asked: of a
 * table that was not analyzed yet PostgreSQL would rather read all of the sweep's than a few rows by their ids.
 */
export const status = sql<NoteState>`case
  when state <> 'available' then state
  when view_count >= max_views then 'limit_reached'
  when expires_at <= now() then 'expired'
  else 'available' end`;

/** The same for a statement that changes a row: there nothing that has the time in it may depend on a case. */
export const isAvailable = sql<boolean>`state = 'available' and view_count < max_views and expires_at > now()`;

const COLUMNS = [...ITEM_COLUMNS, 'content_type', 'view_count', 'max_views'] as const;

/** Looks notes up by their ids, all of one turn by one statement. */
export function noteFinder(db: Database): Notes['find'] {
  const find = batchedFind(async (ids) => {
    const { rows } = await sql<NoteRow>`
      select ${sql.join(COLUMNS.map(sql.ref))}, ${status} as status, repeatable_until > now() as is_repeatable,
        coalesce(octet_length(encrypted_content), 0) as content_length -- known without reading the content
      from notes.notes where id = any(${ids}::uuid[])`.execute(db);
    return rows;
  });

  return async (id) => {
    const row = await find(id);
    return row && toNote(row);
  };
}

type NoteRow = Pick<Selectable<NotesTable>, (typeof COLUMNS)[number]> & {
  status: Note['status'];
  is_repeatable: boolean | null;
  content_length: number;
};

function toNote(row: NoteRow): Note {
  const item = availableItem(row);
  if (!item) {
    const isRepeatable = row.status === 'limit_reached' && row.is_repeatable && row.auth_hash;
    const kept = isRepeatable ? { authHash: isRepeatable, contentLength: row.content_length } : {};
    return { ...goneItem(row), ...kept };
  }
  return {
    ...item,
    contentType: row.content_type,
    contentLength: row.content_length,
    viewCount: row.view_count,
    maxViews: row.max_views,
  };
}
