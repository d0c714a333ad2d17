import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobStore, StoredBlob } from '@mayfly/store/blobs';
import type { UploadReconciliation } from '@mayfly/store/reconcile';

export type ReconcileDeps = {
  uploads: UploadReconciliation;
  blobs: Pick<BlobStore, 'list' | 'open' | 'endPartials'>;
  tombstoneTtlSec: number;
  /** What is younger than this is left alone: it may be on its way. */
  graceSec: number;
};

/** What a comparison found. */
export type ReconcileResult = {
  blobs: number;
  uploads: number;
  /** Blobs that belong to no upload. */
  orphans: number;
  /** Available uploads without their blob. */
  lost: number;
  /** Half-written leftovers. */
  partials: number;
  /** Whether it was put right, only counted, or found to be too much to be true. */
  outcome: 'mended' | 'counted' | 'refused';
};

const PAGE = 1_000;
/** Between two pages, so that a large store is compared in the background. */
const PAUSE_MS = 50;
/** More than this of a store, beyond a few, is not what crashes leave: rather a wrong bucket or an old database. */
const PLAUSIBLE_SHARE = 0.1;
const ALWAYS_PLAUSIBLE = 100;

/**
 * Compares the blob store with the table of uploads, both ways: counts first, then notes orphans for deletion, turns
 * uploads whose blob is lost into tombstones (410 instead of 503), and removes what is half written. It changes nothing
 * when asked only to count, or when it finds more than is plausible, unless `isForced`.
 */
export async function reconcile(
  deps: ReconcileDeps,
  { isDryRun = false, isForced = false, signal }: { isDryRun?: boolean; isForced?: boolean; signal?: AbortSignal } = {},
): Promise<ReconcileResult> {
  const before = new Date(Date.now() - deps.graceSec * 1000);
  const found: ReconcileResult = { blobs: 0, uploads: 0, orphans: 0, lost: 0, partials: 0, outcome: 'counted' };
  for await (const page of compare(deps, { before, signal, isSure: false })) {
    found.blobs += page.blobs;
    found.uploads += page.uploads;
    found.orphans += page.orphans.length;
    found.lost += page.lost.length;
  }
  found.partials = await deps.blobs.endPartials(before, true);
  if (isDryRun) return found;
  if (!isForced && !(isPlausible(found.orphans, found.blobs) && isPlausible(found.lost, found.uploads))) {
    return { ...found, outcome: 'refused' };
  }

  const mended: ReconcileResult = { ...found, orphans: 0, lost: 0, outcome: 'mended' };
  if (found.orphans > 0 || found.lost > 0) {
    for await (const { orphans, lost } of compare(deps, { before, signal, isSure: true })) {
      if (orphans.length > 0) mended.orphans += await deps.uploads.noteOrphans(orphans);
      if (lost.length > 0) mended.lost += await deps.uploads.retireLost(lost, deps.tombstoneTtlSec);
    }
  }
  if (found.partials > 0) mended.partials = await deps.blobs.endPartials(before, false);
  return mended;
}

const isPlausible = (part: number, whole: number) => part <= Math.max(ALWAYS_PLAUSIBLE, whole * PLAUSIBLE_SHARE);

type Compared = { blobs: number; uploads: number; orphans: string[]; lost: string[] };

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
    let count = 0;
    for (let from = after; ; ) {
      signal?.throwIfAborted();
      const ids = await uploads.available({ after: from, upTo, before, limit: PAGE });
      count += ids.length;
      for (const id of ids) if (!stored.has(id) && (!isSure || (await isGone(id)))) lost.push(id);
      const last = ids.at(-1);
      if (last === undefined || ids.length < PAGE) return { uploads: count, lost };
      from = last;
    }
  }

  async function isGone(id: string): Promise<boolean> {
    const payload = await blobs.open(id);
    payload?.destroy();
    return payload === undefined;
  }
}
