import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { Schema } from './schema.ts';

const ITEM = {
  id: true,
  state: true,
  owner_hash: true,
  auth_hash: true,
  salt: true,
  has_password: true,
  password_algo: true,
  password_salt: true,
  expires_at: true,
  created_at: true,
  due_at: true,
  held_bytes: true,
  used_at: true,
  hooks: true,
} as const;

const NOTICES = {
  id: true,
  item_id: true,
  kind: true,
  host: true,
  event: true,
  at: true,
  attempts: true,
  due_at: true,
} as const;

/** What is for the operator, and off unless wanted, makes nobody unfit for requests. */
type Served = Exclude<keyof Schema, `desk.${string}`>;

/** Every column that their statements use. The tables' types check the list: one that is missing, or too many, does not compile. */
export const COLUMNS: { [Table in Served]: Record<keyof Schema[Table], true> } = {
  'files.uploads': {
    ...ITEM,
    size: true,
    file_count: true,
    encrypted_meta: true,
    nonce: true,
    meta_share: true,
    download_count: true,
    max_downloads: true,
    readers: true,
    leased_until: true,
    whole_count: true,
    lost_at: true,
  },
  'files.download_leases': {
    upload_id: true,
    token_hash: true,
    bytes_left: true,
    cuts_left: true,
    forgiven_left: true,
    open_ranges: true,
    recent_ranges: true,
    sent_bytes: true,
    ends_at: true,
    hard_ends_at: true,
  },
  'files.blob_deletions': {
    id: true,
    due_at: true,
    attempts: true,
    held_bytes: true,
    store_ref: true,
  },
  'files.upload_sessions': {
    id: true,
    store_ref: true,
    part_bytes: true,
    is_exact: true,
    is_announced: true,
    seal: true,
    sealed_bytes: true,
    ends_at: true,
  },
  'files.upload_parts': {
    id: true,
    number: true,
    bytes: true,
    tag: true,
    replaced_tag: true,
    digest: true,
  },
  'files.blob_store': {
    id: true,
    marked_at: true,
  },
  'files.storage': { only_row: true, bytes: true },
  'files.notices': NOTICES,
  'files.requests': {
    id: true,
    state: true,
    owner_hash: true,
    public_key: true,
    greeting: true,
    nonce: true,
    max_drops: true,
    drop_count: true,
    max_bytes: true,
    byte_count: true,
    drop_expire_sec: true,
    drop_max_downloads: true,
    created_at: true,
    expires_at: true,
    due_at: true,
    hooks: true,
    held_bytes: true,
  },
  'files.request_drops': {
    request_id: true,
    upload_id: true,
    enc: true,
    sealed: true,
    bytes: true,
    number: true,
    at: true,
  },
  'files.request_storage': { only_row: true, bytes: true },
  'files.request_notices': NOTICES,
  'notes.notes': {
    ...ITEM,
    content_type: true,
    encrypted_content: true,
    nonce: true,
    view_count: true,
    max_views: true,
    recent_views: true,
    repeatable_until: true,
  },
  'notes.notices': NOTICES,
  'notes.storage': { only_row: true, bytes: true },
};

/** Rejects unless PostgreSQL answers and has every table and column that statements on this schema use. Reads no row. */
export async function checkColumns(db: Database, schema: 'files' | 'notes'): Promise<void> {
  const tables = Object.entries(COLUMNS).filter(([table]) => table.startsWith(`${schema}.`));
  const looks = tables.map(([table, columns]) => {
    const names = Object.keys(columns).map((name) => sql.ref(name));
    return sql`select from (select ${sql.join(names)} from ${sql.table(table)} limit 0) as looked_at`;
  });
  await sql`${sql.join(looks, sql` union all `)}`.execute(db);
}
