import { observed } from '@mayfly/store/observed';
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
      ...observed('uploads', postgresUploads(db)),
      ...observed('uploads', postgresUploadSweep(db)),
      ...observed('uploads', postgresReconciliation(db)),
    },
    notes: observed('notes', postgresNoteSweep(db)),
    requests: observed('requests', postgresFileRequestSweep(db)),
    deskSweep: observed('desk', postgresDeskSweep(db)),
    blobs,
    tombstoneTtlSec: config.TOMBSTONE_TTL_SEC,
    graceSec: config.RECONCILE_GRACE_SEC,
  };
}
