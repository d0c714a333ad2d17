import { allKept, endsAtMs, forgetDownload, holdDownload } from './kept-downloads.ts';

/** Of files in the browser's own storage; a key follows. */
export const PREFIX = 'mayfly-';

/**
 * Removes what nobody can continue any more: records whose time is over, and files without one. What a page is working on, or is
 * handing out, stays.
 */
export async function clearLeftovers(now = Date.now()): Promise<void> {
  const all = (await allKept()) ?? [];
  const living = new Set(all.filter((item) => endsAtMs(item) > now).map(({ key }) => key));
  for (const { key } of all) if (!living.has(key)) await ifNobodyHolds(key, () => forgetDownload(key));
  const folder = await navigator.storage.getDirectory();
  for await (const name of folder.keys()) {
    if (!name.startsWith(PREFIX) || living.has(name.slice(PREFIX.length))) continue;
    // One that is open cannot be removed.
    await ifNobodyHolds(name.slice(PREFIX.length), () => folder.removeEntry(name).catch(() => {}));
  }
}

/** Nobody wants its file any more. */
export async function removeFile(key: string): Promise<void> {
  try {
    await (await navigator.storage.getDirectory()).removeEntry(`${PREFIX}${key}`);
  } catch {
    // There is none, or it goes with the next leftovers.
  }
}

async function ifNobodyHolds(key: string, act: () => Promise<void>) {
  const release = await holdDownload(key);
  if (!release) return;
  await act();
  release();
}
