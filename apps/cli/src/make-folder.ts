import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes a folder and those above it that are missing. mkdir's own `recursive` tries for ever where nothing can be made in a folder that is there, as in /proc. */
export async function makeMissing(folder: string, mode?: number) {
  if ((await statOf(folder))?.isDirectory()) return;
  const parent = dirname(folder);
  if (!(await statOf(parent))) await makeMissing(parent, mode);
  await mkdir(folder, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error; // another command may have made it
  });
}

/** What a path leads to; undefined when that is nothing, or cannot be told. */
export function statOf(path: string) {
  return stat(path).catch(() => undefined);
}
