import {
  observedDeskSweep,
  observedFileRequestSweep,
  observedNoteSweep,
  observedReconciliation,
  observedUploadSweep,
  observedUploads,
} from '@mayfly/store/observed';
import type { PairedBlobs } from '@mayfly/store/paired-blobs';
import type { Database } from '@mayfly/store/postgres/database';
import { postgresFileRequestSweep } from '@mayfly/store/postgres/file-requests';
import { postgresReconciliation } from '@mayfly/store/postgres/reconcile';
import { postgresDeskSweep } from '@mayfly/store/postgres/reports';
import { postgresNoteSweep, postgresUploadSweep } from '@mayfly/store/postgres/sweep';
import { postgresUploads } from '@mayfly/store/postgres/uploads';

/** What the sweep and the comparison work on, for the janitor and for the operator's commands alike. */
export function cleanupDeps(
  db: Database,
  blobs: PairedBlobs,
  config: { TOMBSTONE_TTL_SEC: number; RECONCILE_GRACE_SEC: number },
) {
  return {
    uploads: {
      ...observedUploads(postgresUploads(db)),
      ...observedUploadSweep(postgresUploadSweep(db)),
      ...observedReconciliation(postgresReconciliation(db)),
    },
    notes: observedNoteSweep(postgresNoteSweep(db)),
    requests: observedFileRequestSweep(postgresFileRequestSweep(db)),
    deskSweep: observedDeskSweep(postgresDeskSweep(db)),
    blobs,
    tombstoneTtlSec: config.TOMBSTONE_TTL_SEC,
    graceSec: config.RECONCILE_GRACE_SEC,
  };
}
