import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredBlob } from '@mayfly/store/blobs';
import { WrongStore } from '@mayfly/store/marker';
import type { PairedBlobs } from '@mayfly/store/paired-blobs';
import type { UploadReconciliation } from '@mayfly/store/reconcile';

export type ReconcileDeps = {
  uploads: UploadReconciliation;
  blobs: Pick<PairedBlobs, 'list' | 'open' | 'endPartials' | 'assertPaired'>;
  /** What is younger than this is left alone: it may be on its way. */
  graceSec: number;
};

/** What a comparison found. */
export type ReconcileResult = {
  blobs: number;
  uploads: number;
  /** Blobs that belong to no upload. */
  orphans: number;
  /** Available uploads without their blob that no comparison has missed before. */
  lost: number;
  /** Those that an earlier comparison has missed, and that still are. */
  stillLost: number;
  /** Those that an earlier comparison has missed, and that are there again. */
  found: number;
  /** Half-written leftovers. */
  partials: number;
  /** Whether it was put right, only counted, or refused: nothing was changed then. */
  outcome: 'mended' | 'counted' | 'refused';
  /** Why it was refused, for operators. */
  problem?: string;
};

const PAGE = 1_000;
/** Between two pages, so that a large store is compared in the background. */
const PAUSE_MS = 50;
/** More than this of a store, beyond a few, is not what crashes leave: rather a wrong bucket or an old database. */
const PLAUSIBLE_SHARE = 0.1;
const ALWAYS_PLAUSIBLE = 100;
/** A store that misses more than half of what it should have, beyond a very few, is not the store, or not all of it. */
const MOST = 0.5;
const VERY_FEW = 3;

const TOO_MUCH = 'So much does not come from crashes: is it the right blob store, and is all of it there?';

/**
 * Compares the blob store with the table of uploads, both ways: counts first, then queues orphans for deletion, marks
 * uploads whose blob is lost (410 instead of 503) and unmarks those that are there again, and removes what is half written.
 * It changes nothing when asked only to count, in a store that is not the database's, or when it finds more than is
 * plausible, unless `isForced`. Decision daily-comparison.
 */
export async function reconcile(
  deps: ReconcileDeps,
  { isDryRun = false, isForced = false, signal }: { isDryRun?: boolean; isForced?: boolean; signal?: AbortSignal } = {},
): Promise<ReconcileResult> {
  const before = new Date(Date.now() - deps.graceSec * 1000);
  const seen: ReconcileResult = { ...NOTHING, outcome: isDryRun ? 'counted' : 'mended' };
  try {
    await deps.blobs.assertPaired();
    for await (const page of compare(deps, { before, signal, isSure: false })) {
      seen.blobs += page.blobs;
      seen.uploads += page.uploads;
      seen.orphans += page.orphans.length;
      seen.lost += page.lost.length;
      seen.stillLost += page.stillLost;
      seen.found += page.found.length;
    }
    seen.partials = await deps.blobs.endPartials(before, true, arriving(deps));
    if (!isForced && !isPlausible(seen)) return { ...seen, outcome: 'refused', problem: TOO_MUCH };
    if (isDryRun) return seen;
    return await mend(deps, seen, { before, signal, isSure: true });
  } catch (error) {
    if (error instanceof WrongStore) return { ...seen, outcome: 'refused', problem: error.message };
    throw error;
  }
}

const NOTHING = { blobs: 0, uploads: 0, orphans: 0, lost: 0, stillLost: 0, found: 0, partials: 0 };

function isPlausible({ blobs, uploads, orphans, lost, stillLost }: ReconcileResult): boolean {
  const isFew = (part: number, whole: number) => part <= Math.max(ALWAYS_PLAUSIBLE, whole * PLAUSIBLE_SHARE);
  const isMostThere = lost + stillLost <= Math.max(VERY_FEW, uploads * MOST);
  return isFew(orphans, blobs) && isFew(lost, uploads) && (isMostThere || lost === 0);
}

async function mend(deps: ReconcileDeps, seen: ReconcileResult, comparison: Comparison): Promise<ReconcileResult> {
  const mended = { ...seen, orphans: 0, lost: 0, found: 0 };
  if (seen.orphans + seen.lost + seen.found > 0) {
    for await (const { orphans, lost, found } of compare(deps, comparison)) {
      if (orphans.length + lost.length + found.length === 0) continue;
      await deps.blobs.assertPaired(); // it may have been taken away meanwhile
      if (orphans.length > 0) mended.orphans += await deps.uploads.recordOrphans(orphans);
      if (lost.length > 0) mended.lost += await deps.uploads.markLost(lost);
      if (found.length > 0) mended.found += await deps.uploads.markFound(found);
    }
  }
  if (seen.partials > 0) mended.partials = await deps.blobs.endPartials(comparison.before, false, arriving(deps));
  return mended;
}

const arriving =
  ({ uploads }: ReconcileDeps) =>
  (ids: string[]) =>
    uploads.arriving(ids);

type Compared = {
  blobs: number;
  uploads: number;
  orphans: string[];
  lost: string[];
  stillLost: number;
  found: string[];
};

type Comparison = {
  before: Date;
  signal: AbortSignal | undefined;
  /** Asks the store itself about each lost blob: a list may be older than an upload. Before something is changed. */
  isSure: boolean;
};

/** Goes through both in the order of ids, a page of blobs and the uploads of the same range at a time. */
async function* compare(
  { uploads, blobs }: ReconcileDeps,
  { before, signal, isSure }: Comparison,
): AsyncGenerator<Compared> {
  let after = '00000000-0000-0000-0000-000000000000';
  for await (const page of blobs.list()) {
    signal?.throwIfAborted();
    const last = page.at(-1)?.id;
    if (last === undefined) continue;
    const orphans = await orphansOf(page);
    const range = await uploadsOf(new Set(page.map(({ id }) => id)), { after, upTo: last });
    yield { blobs: page.length, orphans, ...range };
    after = last;
    await sleep(PAUSE_MS);
  }
  yield { blobs: 0, orphans: [], ...(await uploadsOf(new Set(), { after, upTo: undefined })) };

  async function orphansOf(page: StoredBlob[]): Promise<string[]> {
    const old = page.filter(({ modifiedAt }) => modifiedAt < before).map(({ id }) => id);
    const known = old.length > 0 ? await uploads.known(old) : new Set();
    return old.filter((id) => !known.has(id));
  }

  async function uploadsOf(stored: Set<string>, { after, upTo }: { after: string; upTo: string | undefined }) {
    const lost: string[] = [];
    const found: string[] = [];
    let [count, stillLost] = [0, 0];
    for (let from = after; ; ) {
      signal?.throwIfAborted();
      const page = await uploads.available({ after: from, upTo, before, limit: PAGE });
      count += page.length;
      for (const { id, isLost } of page) {
        if (stored.has(id)) {
          if (isLost) found.push(id);
        } else if (isLost) stillLost += 1;
        else if (!isSure || (await isGone(id))) lost.push(id);
      }
      const last = page.at(-1)?.id;
      if (last === undefined || page.length < PAGE) return { uploads: count, lost, stillLost, found };
      from = last;
    }
  }

  async function isGone(id: string): Promise<boolean> {
    const payload = await blobs.open(id);
    payload?.destroy();
    return payload === undefined;
  }
}
