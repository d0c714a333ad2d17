import { type Selectable, sql } from 'kysely';
import type { NewUpload, Upload, Uploads } from '../uploads.ts';
import type { Database } from './database.ts';
import type { UploadState, UploadsTable } from './schema.ts';
import { inSeconds } from './time.ts';

/** Availability now: what the sweep has settled, else what the count and the clock say. */
const status = sql<Exclude<UploadState, 'pending'>>`case
  when state <> 'available' then state
  when download_count >= max_downloads then 'limit_reached'
  when expires_at <= now() then 'expired'
  else 'available' end`;

const COLUMNS = [
  'id',
  'owner_hash',
  'auth_hash',
  'salt',
  'size',
  'file_count',
  'has_password',
  'password_algo',
  'password_salt',
  'encrypted_meta',
  'nonce',
  'download_count',
  'max_downloads',
  'expires_at',
  'created_at',
] as const;

/** After so long a store has put away, or dropped, what it was sent. */
const LATE_BLOB_SEC = 60;

export function postgresUploads(db: Database): Uploads {
  /** Deletes rows and notes their blobs for deletion, in one statement. */
  const removeWithBlob = async (id: string, states: UploadState[], retrySec = 0): Promise<boolean> => {
    const { rows } = await sql`
      with gone as (
        delete from files.uploads where id = ${id} and state = any(${states}) returning id
      ), noted as (
        insert into files.blob_deletions (id, due_at) select id, ${inSeconds(retrySec)} from gone on conflict do nothing
      )
      select id from gone`.execute(db);
    return rows.length > 0;
  };

  return {
    async begin(upload: NewUpload, leaseSec: number) {
      await db
        .insertInto('files.uploads')
        .values({
          id: upload.id,
          state: 'pending',
          owner_hash: upload.ownerHash,
          auth_hash: upload.authHash,
          salt: upload.salt,
          size: upload.sizeBytes,
          file_count: upload.fileCount,
          has_password: upload.password !== undefined,
          password_algo: upload.password?.algo ?? null,
          password_salt: upload.password?.salt ?? null,
          max_downloads: upload.maxDownloads,
          leased_until: inSeconds(leaseSec),
          created_at: sql`now()`,
          expires_at: inSeconds(upload.expireSec),
          due_at: inSeconds(leaseSec),
        })
        .execute();
    },

    async renewLease(id, leaseSec) {
      await db
        .updateTable('files.uploads')
        .set({ leased_until: sql`greatest(leased_until, ${inSeconds(leaseSec)})` })
        .where('id', '=', id)
        .execute();
    },

    async publish(id) {
      const { numUpdatedRows } = await db
        .updateTable('files.uploads')
        .set({
          state: 'available',
          leased_until: null,
          created_at: sql`now()`,
          expires_at: sql`now() + (expires_at - created_at)`,
          due_at: sql`now() + (expires_at - created_at)`,
        })
        .where('id', '=', id)
        .where('state', '=', 'pending')
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    async abandon(id) {
      await removeWithBlob(id, ['pending'], LATE_BLOB_SEC);
    },

    async find(id) {
      const row = await db
        .selectFrom('files.uploads')
        .select(COLUMNS)
        .select(status.as('status'))
        .where('id', '=', id)
        .where('state', '<>', 'pending')
        .executeTakeFirst();
      return row && toUpload(row);
    },

    async setMeta(id, { encryptedMeta, nonce }) {
      const { numUpdatedRows } = await db
        .updateTable('files.uploads')
        .set({ encrypted_meta: encryptedMeta, nonce })
        .where('id', '=', id)
        .where('encrypted_meta', 'is', null)
        .where(status, '=', 'available')
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    async claimDownload(id, leaseSec) {
      const counted = await db
        .updateTable('files.uploads')
        .set({
          download_count: sql`download_count + 1`,
          leased_until: sql`greatest(leased_until, ${inSeconds(leaseSec)})`,
          // The last download makes the row the sweep's, as soon as nobody reads the blob any more.
          due_at: sql`case when download_count + 1 >= max_downloads then now() else due_at end`,
        })
        .where('id', '=', id)
        .where(status, '=', 'available')
        .returning('download_count')
        .executeTakeFirst();
      return counted?.download_count ?? 0;
    },

    async returnDownload(id) {
      await db
        .updateTable('files.uploads')
        .set({ download_count: sql`download_count - 1`, due_at: sql`expires_at` })
        .where('id', '=', id)
        .where('state', '=', 'available')
        .where('download_count', '>', 0)
        .execute();
    },

    remove: (id) => removeWithBlob(id, ['available', 'expired', 'limit_reached']),

    async blobsDeleted(ids) {
      if (ids.length > 0) await db.deleteFrom('files.blob_deletions').where('id', 'in', ids).execute();
    },

    async check() {
      await sql`select from files.uploads limit 0`.execute(db);
    },
  };
}

type UploadRow = Pick<Selectable<UploadsTable>, (typeof COLUMNS)[number]> & { status: Upload['status'] };

function toUpload(row: UploadRow): Upload {
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
    sizeBytes: row.size,
    fileCount: row.file_count,
    ...(row.password_algo && row.password_salt
      ? { password: { algo: row.password_algo, salt: row.password_salt } }
      : {}),
    ...(row.encrypted_meta !== null && row.nonce !== null
      ? { meta: { encryptedMeta: row.encrypted_meta, nonce: row.nonce } }
      : {}),
    downloadCount: row.download_count,
    maxDownloads: row.max_downloads,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}
