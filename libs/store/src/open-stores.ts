import type { Config } from '@mayfly/shared/config';
import type { ownerSettings, reportSettings, requestSettings } from '@mayfly/shared/settings';
import {
  observedBlocks,
  observedDownloadLeases,
  observedFileRequests,
  observedNotes,
  observedOwnedItems,
  observedReports,
  observedUploadSessions,
  observedUploads,
} from './observed.ts';
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
  const desk = { reports: observedReports(postgresReports(db)), blocks: observedBlocks(postgresBlocks(db)) };
  return {
    uploads: observedUploads(postgresUploads(db, { ...ceiling, keepsUseTimes })),
    sessions: observedUploadSessions(postgresUploadSessions(db, ceiling)),
    leases: observedDownloadLeases(postgresDownloadLeases(db, { keepsUseTimes })),
    owned: observedOwnedItems(postgresOwnedUploads(db), 'ownedUploads'),
    requests: observedFileRequests(postgresFileRequests(db, { maxBytes, keepsUseTimes })),
    desk: config.REPORTS === 'on' ? desk : undefined,
  };
}

/** The same of the notes service. */
export function openNoteStores(db: Database, config: Reporting & Owning & { NOTES_MAX_BYTES: number | undefined }) {
  const maxBytes = config.NOTES_MAX_BYTES || undefined;
  return {
    notes: observedNotes(postgresNotes(db, { maxBytes, keepsUseTimes: config.USE_TIMES !== 'none' })),
    owned: observedOwnedItems(postgresOwnedNotes(db), 'ownedNotes'),
    blocks: config.REPORTS === 'on' ? observedBlocks(postgresBlocks(db)) : undefined,
  };
}
