import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { idOf, nameOf } from '../blobs.ts';
import { onceDone } from '../once-done.ts';
import { codeOf, isMissing, unreadable } from './faults.ts';

const FOLDERS = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'));
/** What a folder ends in that holds the parts of a payload. */
export const PARTS = '.parts';
const folderOf = (id: string) => id.slice(0, 2);

/**
 * Where blobs lie below `top`: in 256 folders, by the first two digits of their ids, since whatever makes or removes a name
 * waits for the lock of its folder. Earlier versions put all into `top` itself, and what is still there is found. Moves go one
 * way only, into the folders, in any number of processes at once. Decision blob-folders.
 */
export function openBlobFolders(top: string) {
  const pathOf = (id: string) => join(top, folderOf(id), nameOf(id));
  const flatPathOf = (id: string) => join(top, nameOf(id));

  /** Makes folders; a top that is not there is not made. */
  async function make(folders: string[]) {
    for (const folder of folders) {
      await mkdir(join(top, folder), { mode: 0o700 }).catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error;
      });
    }
    // A blob is as durable as its folder. Those that were there may have been made by another process a moment ago.
    await using handle = await open(top, 'r');
    await handle.sync();
  }
  const makeAll = onceDone(() => make(FOLDERS));

  /** Only a top that is not there is a fault. */
  async function namesIn(folder: string): Promise<string[]> {
    return readdir(join(top, folder)).catch((error: unknown) => {
      return isMissing(error) && folder !== '' ? [] : unreadable(error);
    });
  }

  return {
    pathOf,
    partsOf: (id: string) => join(top, folderOf(id), id + PARTS),

    /** All paths that a blob may have. Whoever removes it goes in this order, so that no move can slip past. */
    pathsOf: (id: string) => [flatPathOf(id), pathOf(id)],

    /** Creates a file in the folder of a blob, with what `create` does. */
    async create<File>(id: string, create: () => Promise<File>): Promise<File> {
      await makeAll();
      try {
        return await create();
      } catch (error) {
        if (!isMissing(error)) throw error;
        await make([folderOf(id)]); // somebody has removed it
        return create();
      }
    },

    /** What `look` finds in the one place or the other; undefined when there is no such blob. */
    async find<Found>(id: string, look: (path: string) => Promise<Found>): Promise<Found | undefined> {
      // Once more at the end: it may have been moved between the first look and the second.
      for (const path of [pathOf(id), flatPathOf(id), pathOf(id)]) {
        try {
          return await look(path);
        } catch (error) {
          if (!isMissing(error)) unreadable(error);
        }
      }
      return undefined;
    },

    /** The ids of each folder in turn, in rising order. */
    async *ids(): AsyncGenerator<string[]> {
      // The top first: what is moved meanwhile is found in its folder.
      const flat = Map.groupBy(idsAmong(await namesIn('')), folderOf);
      for (const folder of FOLDERS) {
        yield [...new Set([...(flat.get(folder) ?? []), ...idsAmong(await namesIn(folder))])].sort();
      }
    },

    /** The paths of all that is there, whatever it is. */
    async *paths(): AsyncGenerator<string> {
      for (const folder of ['', ...FOLDERS]) {
        for (const name of await namesIn(folder)) yield join(top, folder, name);
      }
    },

    /**
     * Makes the folders, and moves into them what lies in the top; resolves with how many. It may be killed at any point: a
     * rename is done or not, also when the power is cut. One that fails is left where it is, and thrown after the others.
     */
    async moveFlat(signal: AbortSignal): Promise<number> {
      let moved = 0;
      const faults: unknown[] = [];
      await makeAll();
      for (const id of idsAmong(await namesIn(''))) {
        signal.throwIfAborted();
        try {
          await rename(flatPathOf(id), pathOf(id));
          moved += 1;
        } catch (error) {
          if (!isMissing(error)) faults.push(error); // else it was deleted, or another process was quicker
        }
      }
      if (faults.length > 0) throw new Error(`${faults.length} blobs could not be moved`, { cause: faults[0] });
      return moved;
    },
  };
}

const idsAmong = (names: string[]) => names.flatMap((name) => idOf(name) ?? []);
