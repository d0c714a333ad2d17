import { chmod, stat } from 'node:fs/promises';
import { exists } from '../destination.ts';
import { place, type Saved } from '../save.ts';
import type { PartialFolder } from './partial-folder.ts';
import { pathOf } from './written.ts';

/** What the system lets files have that were not made for their owner alone. */
const USUAL_MODE = 0o666;

export type Wanted = {
  /** Files of the upload, by their places in its metadata. */
  indexes: number[];
  /** Where they go. */
  paths: string[];
  mayReplace: boolean;
};

/** Gives whole files their names. What has got one already, before the process was killed, stays where it is. */
export async function placeAll(folder: PartialFolder, { indexes, paths, mayReplace }: Wanted): Promise<Saved[]> {
  const saved: Saved[] = [];
  for (const [at, path] of paths.entries()) {
    const from = pathOf(folder, indexes[at] ?? 0);
    if (await exists(from)) {
      await chmod(from, USUAL_MODE & ~process.umask());
      const { size } = await stat(from);
      saved.push({ path: await place(from, path, mayReplace), size });
    } else if (await exists(path)) {
      saved.push({ path, size: (await stat(path)).size });
    }
  }
  return saved;
}
