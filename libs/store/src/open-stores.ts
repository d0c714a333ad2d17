import type { Config } from '@mayfly/shared/config';
import type { ownerSettings, reportSettings, requestSettings } from '@mayfly/shared/settings';
import { observed } from './observed.ts';
import { uploadCeiling } from './open-blobs.ts';
import type { Database } from './postgres/database.ts';
import { postgresDownloadLeases } from './postgres/download-leases.ts';
import { postgresFileRequests } from './postgres/file-requests.ts';
import { postgresNotes } from './postgres/notes.ts';
import { postgresOwnedNotes, postgresOwnedUploads } from './postgres/owned-items.ts';
import { postgresBlocks, postgresReports } from './postgres/reports.ts';
import { postgresUploadSessions } from './postgres/upload-sessions.ts';
import { postgresUploads } from './postgres/uploads.ts';

type Reporting = Pick<Config<typeof reportSettings>, 'REPORTS'>;
type Owning = Pick<Config<typeof ownerSettings>, 'USE_TIMES'>;
type Requesting = Pick<Config<typeof requestSettings>, 'REQUESTS_STORAGE_MAX_BYTES'>;
type Storing = Parameters<typeof uploadCeiling>[0];

/** The tables of the files service, as its settings want them, and measured. */
export async function openFileStores(db: Database, config: Reporting & Owning & Requesting & Storing) {
  const ceiling = await uploadCeiling(config);
  const keepsUseTimes = config.USE_TIMES !== 'none';
  const maxBytes = config.REQUESTS_STORAGE_MAX_BYTES || undefined;
  const desk = { reports: observed('reports', postgresReports(db)), blocks: observed('blocks', postgresBlocks(db)) };
  return {
    uploads: observed('uploads', postgresUploads(db, { ...ceiling, keepsUseTimes })),
    sessions: observed('sessions', postgresUploadSessions(db, ceiling)),
    leases: observed('leases', postgresDownloadLeases(db, { keepsUseTimes })),
    owned: observed('ownedUploads', postgresOwnedUploads(db)),
    requests: observed('requests', postgresFileRequests(db, { maxBytes, keepsUseTimes })),
    desk: config.REPORTS === 'on' ? desk : undefined,
  };
}

/** The same of the notes service. */
export function openNoteStores(db: Database, config: Reporting & Owning & { NOTES_MAX_BYTES: number | undefined }) {
  const maxBytes = config.NOTES_MAX_BYTES || undefined;
  return {
    notes: observed('notes', postgresNotes(db, { maxBytes, keepsUseTimes: config.USE_TIMES !== 'none' })),
    owned: observed('ownedNotes', postgresOwnedNotes(db)),
    blocks: config.REPORTS === 'on' ? observed('blocks', postgresBlocks(db)) : undefined,
  };
}
