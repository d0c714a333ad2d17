import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { loadConfig } from '@mayfly/shared/config';
import { ownerSettings, requestSettings, uploadSettings } from '@mayfly/shared/settings';
import type { BlobStore } from '@mayfly/store/blobs';
import { openDiskBlobs } from '@mayfly/store/disk/blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresDownloadLeases } from '@mayfly/store/postgres/download-leases';
import { postgresFileRequests } from '@mayfly/store/postgres/file-requests';
import { postgresOwnedUploads } from '@mayfly/store/postgres/owned-items';
import { postgresUploadSweep } from '@mayfly/store/postgres/sweep';
import { postgresUploadSessions } from '@mayfly/store/postgres/upload-sessions';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import type { UploadSessions } from '@mayfly/store/upload-sessions';
import { freshDatabase, freshFolder, letTimePass, query } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { buildFiles } from '../src/index.ts';

const given = { EXPIRE_OPTIONS_SEC: '60', DOWNLOAD_OPTIONS: '1', UPLOAD_PART_BYTES_MIN: '10' };
const limits = loadConfig({ ...uploadSettings, ...ownerSettings, ...requestSettings }, given);

type Stores = { blobs: BlobStore; sessions: UploadSessions };

export const token = () => randomBytes(32).toString('base64url');

/** The headers of an upload that may be downloaded once. */
export const uploadHeaders = () => ({
  'x-auth-token': token(),
  'x-owner-token': token(),
  'x-salt': randomBytes(16).toString('base64url'),
  'x-max-downloads': '1',
  'x-expire-sec': '60',
  'x-file-count': '1',
  'x-has-password': 'false',
});

/** The service, listening, on stores of its own, of which some functions are others. */
export async function startFiles(
  faults: (held: Stores) => { [Store in keyof Stores]?: Partial<Stores[Store]> },
  ceiling: { maxBytes?: number } = {},
) {
  const stack = new AsyncDisposableStack();
  const logger = pino({ level: 'silent' });
  const { url: DATABASE_URL } = stack.use(await freshDatabase({ hasTables: true }));
  const db = stack.use(openDatabase({ DATABASE_URL, DATABASE_POOL_SIZE: 5 }, logger));
  const folder = stack.use(await freshFolder()).path;
  const held = { blobs: stack.use(openDiskBlobs(folder)), sessions: postgresUploadSessions(db, ceiling) };
  const { blobs, sessions } = faults(held);
  const uploads = postgresUploads(db, ceiling);
  const app = stack.use(
    buildFiles({
      uploads,
      leases: postgresDownloadLeases(db),
      owned: postgresOwnedUploads(db),
      requests: postgresFileRequests(db),
      sessions: { ...held.sessions, ...sessions },
      blobs: { ...held.blobs, ...blobs },
      limits,
      logger,
    }),
  );
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    url,
    uploads,
    async heldBytes() {
      const [row] = await query<{ bytes: string }>(DATABASE_URL, 'select bytes from files.storage');
      return Number(row?.bytes);
    },
    /** Ids whose payloads are to be deleted by an hour from now. */
    async takeDeletions() {
      await letTimePass(DATABASE_URL, 3600);
      return postgresUploadSweep(db).takeDeletions(10);
    },
    held: held.blobs,
    /** What is stored, also what is half written. */
    async storedNames() {
      const names = await readdir(folder, { recursive: true });
      return names.map((name) => basename(name)).filter((name) => name.includes('.'));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
