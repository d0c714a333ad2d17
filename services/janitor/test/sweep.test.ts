import { expect, test } from 'vitest';
import { type SweepDeps, SweepFailed, sweep } from '../src/sweep.ts';

/** A store with so much to do of each kind, and a list of what it was asked. */
function workload(due: { uploads?: number; blobs?: number }) {
  let [uploads, blobs] = [due.uploads ?? 0, due.blobs ?? 0];
  const settled: string[] = [];
  const take = (limit: number, left: number) => Math.min(limit, left);
  const deps: SweepDeps = {
    uploads: {
      async retire(limit) {
        const taken = take(limit, uploads);
        uploads -= taken;
        return { count: taken, expired: taken, unused: 0 };
      },
      endLeases: async () => 0,
      reapAbandoned: async () => 0,
      endTombstones: async () => 0,
      async takeDeletions(limit) {
        const taken = take(limit, blobs);
        blobs -= taken;
        return Array.from({ length: taken }, (_, i) => `blob-${blobs + i}`);
      },
      async blobsDeleted(ids) {
        settled.push(...ids);
      },
      partedDeletions: async () => [],
      partsDeleted: async () => {},
    },
    notes: { retire: async () => ({ count: 3, expired: 3, unused: 1 }), endTombstones: async () => 0 },
    requests: { retire: async () => 0, endTombstones: async () => 0 },
    deskSweep: { endReports: async () => 4, endBlocks: async () => 0 },
    blobs: { delete: async () => [], parts: { abort: async () => {} } },
    tombstoneTtlSec: 60,
  };
  return { deps, settled };
}

test('everything that is due is handled, however many batches it takes', async () => {
  const { deps, settled } = workload({ uploads: 1_250, blobs: 2_500 });
  expect(await sweep(deps)).toMatchObject({
    uploadsRetired: 1_250,
    notesRetired: 3,
    reportsEnded: 4,
    blobsDeleted: 2_500,
  });
  expect(settled.length).toBe(2_500);
});

test('a step that fails does not keep the others from their work, and the sweep says so', async () => {
  const { deps, settled } = workload({ blobs: 5 });
  deps.uploads.retire = async () => {
    throw new Error('deadlock');
  };
  const failure = await sweep(deps).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SweepFailed);
  expect(failure).toMatchObject({ result: { notesRetired: 3, blobsDeleted: 5 } });
  expect((failure as SweepFailed).errors).toHaveLength(1);
  expect(settled.length).toBe(5);
});

test('blobs that cannot be deleted are not settled, and do not keep the others waiting', async () => {
  const { deps, settled } = workload({ blobs: 2_500 });
  deps.blobs.delete = async (ids) => ids.slice(0, 1);
  expect(await sweep(deps)).toMatchObject({ blobsDeleted: 2_497, blobsFailed: 3 });
  expect(settled.length).toBe(2_497);
});

test('a blob store that is away is left alone until the next sweep', async () => {
  const { deps, settled } = workload({ blobs: 2_500 });
  deps.blobs.delete = async (ids) => ids;
  expect(await sweep(deps)).toMatchObject({ blobsDeleted: 0, blobsFailed: 1_000 });
  expect(settled).toEqual([]);
});

test('parts that were coming are aborted, and once more when the deletion comes up again; then it is settled', async () => {
  const aborted: string[] = [];
  const tried = new Set<string>();
  const { deps, settled } = workload({});
  let times = 2;
  deps.uploads.takeDeletions = async () => (times-- > 0 ? ['plain', 'parted'] : []);
  deps.uploads.partedDeletions = async () => [{ id: 'parted', storeRef: 'ref', isRepeated: tried.has('parted') }];
  deps.blobs.parts.abort = async (id, ref) => {
    tried.add(id);
    aborted.push(`${id} ${ref}`);
  };
  await sweep(deps);
  expect(settled).toEqual(['plain']);
  await sweep(deps);
  expect(settled).toEqual(['plain', 'plain', 'parted']);
  expect(aborted).toEqual(['parted ref', 'parted ref']);
});

test('parts that cannot be aborted are not settled, and the others are not asked for', async () => {
  const { deps, settled } = workload({});
  let asked = 0;
  deps.uploads.takeDeletions = async (limit) => (asked === 0 ? ['a', 'b', 'plain'].slice(0, limit) : []);
  deps.uploads.partedDeletions = async () => ['a', 'b'].map((id) => ({ id, storeRef: 'ref', isRepeated: true }));
  deps.blobs.parts.abort = async () => {
    asked += 1;
    throw new Error('away');
  };
  await sweep(deps);
  expect([asked, settled]).toEqual([1, ['plain']]);
});
