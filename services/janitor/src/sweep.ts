import type { BlobStore } from '@mayfly/store/blobs';
import type { NoteSweep, UploadSweep } from '@mayfly/store/sweep';
import type { Uploads } from '@mayfly/store/uploads';

export type SweepDeps = {
  uploads: UploadSweep & Pick<Uploads, 'blobsDeleted'>;
  notes: NoteSweep;
  blobs: Pick<BlobStore, 'delete'>;
  tombstoneTtlSec: number;
};

/** What one sweep did, by kind. */
export type SweepResult = {
  uploadsRetired: number;
  uploadsAbandoned: number;
  notesRetired: number;
  blobsDeleted: number;
  tombstonesEnded: number;
};

const BATCH = 200;
/** A sweep ends after so many batches of a kind; the next one goes on. */
const MAX_BATCHES = 500;

/** Removes everything that is due, in batches. Safe to run any number of times at once. */
export async function sweep({ uploads, notes, blobs, tombstoneTtlSec }: SweepDeps): Promise<SweepResult> {
  const deleteBlobs = async () => {
    const ids = await uploads.takeDeletions(BATCH);
    const failed = new Set(ids.length > 0 ? await blobs.delete(ids) : []);
    await uploads.blobsDeleted(ids.filter((id) => !failed.has(id)));
    return failed.size > 0 ? 0 : ids.length; // a failing store is left alone until the next sweep
  };
  return {
    uploadsRetired: await inBatches(() => uploads.retire(BATCH, tombstoneTtlSec)),
    uploadsAbandoned: await inBatches(() => uploads.reapAbandoned(BATCH)),
    notesRetired: await inBatches(() => notes.retire(BATCH, tombstoneTtlSec)),
    blobsDeleted: await inBatches(deleteBlobs),
    tombstonesEnded:
      (await inBatches(() => uploads.endTombstones(BATCH))) + (await inBatches(() => notes.endTombstones(BATCH))),
  };
}

async function inBatches(step: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const handled = await step();
    total += handled;
    if (handled < BATCH) break;
  }
  return total;
}
