import { rm, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { idOf, nameOf } from '../blobs.ts';
import { type openBlobFolders, PARTS } from './blob-folders.ts';
import { isMissing, unavailable, unreadable } from './faults.ts';

/** A payload that arrives as a whole. */
export const PARTIAL = '.part';
const ASKED_AT_ONCE = 1_000;

type Found = { path: string; id: string };

/** Removes what is half written, or only counts it. Contract: `BlobStore.endPartials`. */
export async function endPartials(
  folders: ReturnType<typeof openBlobFolders>,
  { before, isDryRun }: { before: Date; isDryRun: boolean },
  arriving: (ids: string[]) => Promise<ReadonlySet<string>>,
): Promise<number> {
  let found = 0;
  let parted: Found[] = [];
  const end = async (path: string) => {
    found += 1;
    if (!isDryRun) await rm(path, { force: true, recursive: true }).catch(unavailable);
  };
  const endParted = async () => {
    const kept = parted.length > 0 ? await arriving(parted.map(({ id }) => id)) : new Set();
    for (const { id, path } of parted) if (!kept.has(id)) await end(path);
    parted = [];
  };
  for await (const path of folders.paths()) {
    const name = basename(path);
    const partedId = name.endsWith(PARTS) ? idOf(nameOf(name.slice(0, -PARTS.length))) : undefined;
    const isPartial = name.endsWith(PARTIAL) && idOf(name.slice(0, -PARTIAL.length)) !== undefined;
    if (!isPartial && partedId === undefined) continue;
    const modifiedAt = await modifiedAtOf(path);
    if (!modifiedAt || modifiedAt >= before) continue;
    if (partedId === undefined) await end(path);
    else if (parted.push({ path, id: partedId }) === ASKED_AT_ONCE) await endParted();
  }
  await endParted();
  return found;
}

/** Undefined when it has been removed meanwhile. */
async function modifiedAtOf(path: string): Promise<Date | undefined> {
  try {
    return (await stat(path)).mtime;
  } catch (error) {
    return isMissing(error) ? undefined : unreadable(error);
  }
}
