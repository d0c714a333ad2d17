import type { BlobParts } from '@mayfly/store/blob-parts';
import type { BlobStore } from '@mayfly/store/blobs';
import type { FileRequestSweep } from '@mayfly/store/file-requests';
import type { DeskSweep } from '@mayfly/store/reports';
import type { NoteSweep, Retired, UploadSweep } from '@mayfly/store/sweep';
import type { Uploads } from '@mayfly/store/uploads';

export type SweepDeps = {
  uploads: UploadSweep & Pick<Uploads, 'blobsDeleted'>;
  notes: NoteSweep;
  requests: FileRequestSweep;
  deskSweep: DeskSweep;
  blobs: Pick<BlobStore, 'delete'> & { parts: Pick<BlobParts, 'abort'> };
  tombstoneTtlSec: number;
};

/** What one sweep did, by kind; a kind that it did not come to is absent. */
export type SweepResult = {
  uploadsRetired?: number;
  /** Of those: whose time came before their limit; and of these, those that nobody downloaded. */
  uploadsExpired?: number;
  uploadsUnused?: number;
  uploadsAbandoned?: number;
  /** Downloads that could have been continued. */
  leasesEnded?: number;
  notesRetired?: number;
  notesExpired?: number;
  notesUnused?: number;
  requestsRetired?: number;
  /** Of what was not there, or not any more. */
  reportsEnded?: number;
  blobsDeleted?: number;
  /** Left in the store, to be tried again later. */
  blobsFailed?: number;
  tombstonesEnded?: number;
};

/** Some steps of a sweep failed; the others are done. */
export class SweepFailed extends AggregateError {
  override name = 'SweepFailed';
  readonly result: SweepResult;
  constructor(errors: Error[], result: SweepResult) {
    super(errors, `${errors.length} steps of a sweep failed`);
    this.result = result;
  }
}

const BATCH = 200;
/** As many as one request of an S3 store deletes. */
const BLOB_BATCH = 1_000;
/** A sweep ends after so many batches of a kind; the next one goes on. */
const MAX_BATCHES = 500;

/**
 * Removes everything that is due, in batches. Safe to run any number of times at once, and to be killed in any step.
 * Throws SweepFailed when a step failed, after the others.
 */
export async function sweep({
  uploads,
  notes,
  requests,
  deskSweep,
  blobs,
  tombstoneTtlSec,
}: SweepDeps): Promise<SweepResult> {
  const result: SweepResult = {};
  const errors: Error[] = [];
  const add = (name: keyof SweepResult, count: number) => {
    result[name] = (result[name] ?? 0) + count;
  };
  /** Batch after batch, as long as they come full; one that fails ends this step only. */
  const step = async (name: keyof SweepResult, size: number, takeBatch: (size: number) => Promise<number>) => {
    try {
      for (let batch = 0; batch < MAX_BATCHES; batch++) {
        if ((await takeBatch(size)) < size) break;
      }
    } catch (error) {
      errors.push(new Error(`the step ${name} failed`, { cause: error }));
    }
  };
  const counted = (name: keyof SweepResult, remove: (size: number) => Promise<number>) =>
    step(name, BATCH, async (size) => {
      const removed = await remove(size);
      add(name, removed);
      return removed;
    });

  const expired = (retired: Retired, kind: keyof SweepResult, unused: keyof SweepResult) => {
    add(kind, retired.expired);
    add(unused, retired.unused);
    return retired.count;
  };
  await counted('leasesEnded', (size) => uploads.endLeases(size)); // first: what they kept may go with this sweep
  await counted('uploadsRetired', async (size) =>
    expired(await uploads.retire(size, tombstoneTtlSec), 'uploadsExpired', 'uploadsUnused'),
  );
  await counted('uploadsAbandoned', (size) => uploads.reapAbandoned(size));
  await counted('notesRetired', async (size) =>
    expired(await notes.retire(size, tombstoneTtlSec), 'notesExpired', 'notesUnused'),
  );
  await counted('requestsRetired', (size) => requests.retire(size, tombstoneTtlSec));
  await step('blobsDeleted', BLOB_BATCH, async (size) => {
    const ids = await uploads.takeDeletions(size);
    const unsettled = ids.length > 0 ? await abortParts(uploads, blobs, ids) : [];
    const failed = new Set(ids.length > 0 ? await blobs.delete(ids) : []);
    // Only now is a queued deletion settled: one that failed, or a process that dies here, leaves it to be tried again.
    await uploads.blobsDeleted(ids.filter((id) => !failed.has(id) && !unsettled.includes(id)));
    add('blobsDeleted', ids.length - failed.size);
    add('blobsFailed', failed.size);
    return failed.size === ids.length ? 0 : ids.length; // a store that is away is left alone until the next sweep
  });
  await counted('tombstonesEnded', (size) => uploads.endTombstones(size));
  await counted('tombstonesEnded', (size) => notes.endTombstones(size));
  await counted('tombstonesEnded', (size) => requests.endTombstones(size));
  await counted('tombstonesEnded', (size) => deskSweep.endBlocks(size));
  await step('reportsEnded', BATCH, async () => {
    add('reportsEnded', await deskSweep.endReports()); // there are few
    return 0;
  });
  if (errors.length > 0) throw new SweepFailed(errors, result);
  return result;
}

/** Resolves with those that are to come up again: a store may put away a part that was under way after it has been told. */
async function abortParts(uploads: SweepDeps['uploads'], { parts }: SweepDeps['blobs'], ids: string[]) {
  const unsettled: string[] = [];
  let isAway = false;
  for (const { id, storeRef, isRepeated } of await uploads.partedDeletions(ids)) {
    if (!isAway) await parts.abort(id, storeRef).catch(() => (isAway = true)); // it is tried again later, and so are the others
    if (isAway || !isRepeated) unsettled.push(id);
    else await uploads.partsDeleted(id);
  }
  return unsettled;
}
