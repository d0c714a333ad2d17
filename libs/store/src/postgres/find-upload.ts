import { type Selectable, sql } from 'kysely';
import type { Upload, Uploads } from '../uploads.ts';
import { batched, batchedFind } from './batched.ts';
import type { Database } from './database.ts';
import { availableItem, goneItem, ITEM_COLUMNS } from './items.ts';
import type { UploadState, UploadsTable } from './schema.ts';

/** Availability now: what the sweep has settled, else what the count and the clock say, or a comparison that missed the blob. */
export const status = sql<Exclude<UploadState, 'pending'>>`case
  when state <> 'available' then state
  when download_count >= max_downloads then 'limit_reached'
  when expires_at <= now() or lost_at is not null then 'expired'
  else 'available' end`;

/** The same for a statement that changes a row: there nothing that has the time in it may depend on a case. */
export const isAvailable = sql<boolean>`
  state = 'available' and download_count < max_downloads and expires_at > now() and lost_at is null`;

export const COLUMNS = [
  ...ITEM_COLUMNS,
  'size',
  'file_count',
  'nonce',
  'meta_share',
  'download_count',
  'max_downloads',
] as const;

/** Longer metadata is fetched by a statement of its own: a hundred of the longest would be 25 MB. */
const SMALL_META_LENGTH = 16 * 1024;

/** Looks uploads up by their ids, all of one turn by one statement. */
export function uploadFinder(db: Database): Uploads['find'] {
  const find = batchedFind(async (ids) => {
    const { rows } = await sql<UploadRow & { has_large_meta: boolean | null }>`
      select ${sql.join(COLUMNS.map(sql.ref))}, ${status} as status,
        case when octet_length(encrypted_meta) <= ${sql.lit(SMALL_META_LENGTH)} then encrypted_meta end as encrypted_meta,
        octet_length(encrypted_meta) > ${sql.lit(SMALL_META_LENGTH)} as has_large_meta
      from files.uploads where id = any(${ids}::uuid[]) and state <> 'pending'`.execute(db);
    return rows;
  });

  const largeMeta = batched<string, string | null>(
    async ([id = '']) => {
      const row = await db.selectFrom('files.uploads').select('encrypted_meta').where('id', '=', id).executeTakeFirst();
      return [row?.encrypted_meta ?? null];
    },
    { most: 1 },
  );

  return async (id) => {
    const row = await find(id);
    if (row?.has_large_meta) row.encrypted_meta = await largeMeta(id);
    return row && toUpload(row);
  };
}

export type UploadRow = Pick<Selectable<UploadsTable>, (typeof COLUMNS)[number]> & {
  status: Upload['status'];
  encrypted_meta: string | null;
};

export function toUpload(row: UploadRow): Upload {
  const item = availableItem(row);
  if (!item) return goneItem(row);
  const { encrypted_meta: encryptedMeta, nonce, meta_share: share } = row;
  const sealed = share === null ? {} : { share };
  return {
    ...item,
    sizeBytes: row.size,
    fileCount: row.file_count,
    ...(encryptedMeta !== null && nonce !== null ? { meta: { encryptedMeta, nonce, ...sealed } } : {}),
    downloadCount: row.download_count,
    maxDownloads: row.max_downloads,
  };
}
