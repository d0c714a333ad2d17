import { constants } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { countRead } from '@mayfly/shared/read-buffers';
import type { BlobStore, StoredBlob } from '../blobs.ts';
import { MARKER_TEXT, type MarkedPlace, markerIdOf, markerName } from '../marker.ts';
import { openBlobFolders } from './blob-folders.ts';
import { unavailable, unreadable } from './faults.ts';
import { endPartials, PARTIAL } from './partials.ts';
import { openDiskParts } from './parts.ts';
import { PayloadStream } from './payload-stream.ts';
import { openRoom } from './room.ts';
import { writeExactly } from './write-exactly.ts';

const PAGE = 1_000;
const WRONG_SIZE = 'a blob has another size than its upload';

/**
 * Blobs as files below one folder. Several processes of one machine may share it. `minFreeBytes` of its disk stay free; without it
 * a share of the disk.
 */
export function openDiskBlobs(
  folder: string,
  { minFreeBytes }: { minFreeBytes?: number | undefined } = {},
): BlobStore & MarkedPlace & AsyncDisposable {
  const room = openRoom(folder, minFreeBytes);
  const folders = openBlobFolders(folder);
  const closing = new AbortController();
  let moving: Promise<number> | undefined;

  return {
    reserve: (id, sizeBytes) => room.reserve(id, sizeBytes),

    async put(id, body, sizeBytes, signal) {
      using reserved = room.of(id) ?? (await room.reserve(id, sizeBytes));
      const path = folders.pathOf(id);
      const partial = path + PARTIAL;
      try {
        const file = await folders.create(id, () => open(partial, 'wx', 0o600)).catch(unavailable);
        try {
          await writeExactly(file, body, { sizeBytes, signal, reserved });
          await rename(partial, path).catch(unavailable);
          // After the rename, so that one sync makes bytes and name durable. Until it is done nobody is told of the blob.
          await file.sync().catch(unavailable);
        } finally {
          await file.close();
        }
      } catch (error) {
        await rm(partial, { force: true });
        await rm(path, { force: true });
        throw error;
      }
    },

    async open(id, sizeBytes, range) {
      const file = await folders.find(id, (path) => open(path, 'r'));
      if (!file) return undefined;
      try {
        const { size } = await file.stat();
        if (sizeBytes !== undefined && size !== sizeBytes) throw new Error(WRONG_SIZE);
        return new PayloadStream(file, size, range);
      } catch (error) {
        await file.close();
        return unreadable(error);
      }
    },

    async read(id, sizeBytes) {
      const file = await folders.find(id, (path) => open(path, 'r'));
      if (!file) return undefined;
      try {
        const bytes = Buffer.allocUnsafeSlow(sizeBytes + 1); // one more, to see where the file ends
        countRead(bytes.length);
        const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
        if (bytesRead !== sizeBytes) throw new Error(WRONG_SIZE);
        return bytes.subarray(0, sizeBytes);
      } catch (error) {
        return unreadable(error);
      } finally {
        await file.close();
      }
    },

    async delete(ids) {
      const failed: string[] = [];
      // In a folder that is away nothing is deleted, though nothing is found there either.
      if (!(await isThere(folder, constants.W_OK | constants.X_OK))) return ids;
      for (const id of ids) {
        try {
          for (const path of folders.pathsOf(id)) {
            await rm(path, { force: true });
            await rm(path + PARTIAL, { force: true });
          }
        } catch {
          failed.push(id); // reported, so that the caller tries again later
        }
      }
      return failed;
    },

    async *list() {
      const withTimes = async (ids: string[]): Promise<StoredBlob[]> => {
        const page = ids.map(async (id) => {
          const found = await folders.find(id, stat);
          return found ? [{ id, modifiedAt: found.mtime }] : []; // removed meanwhile
        });
        return (await Promise.all(page)).flat();
      };
      let ids: string[] = [];
      for await (const more of folders.ids()) {
        ids = ids.concat(more);
        while (ids.length >= PAGE) yield await withTimes(ids.splice(0, PAGE));
      }
      if (ids.length > 0) yield await withTimes(ids);
    },

    endPartials: (before, isDryRun, arriving) => endPartials(folders, { before, isDryRun }, arriving),
    parts: openDiskParts(folders, room),

    async check() {
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).catch(unavailable);
      (await room.reserve('check', 1))[Symbol.dispose]();
    },

    async create() {
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch(unavailable);
    },
    exists: () => isThere(folder),
    async assertPrivate() {}, // who may read it is the system's affair
    async markers() {
      return (await readdir(folder).catch(unreadable)).flatMap((name) => markerIdOf(name) ?? []);
    },
    bears: (id) => isThere(join(folder, markerName(id))),
    async mark(id) {
      await writeFile(join(folder, markerName(id)), MARKER_TEXT, { mode: 0o600, flush: true }).catch(unavailable);
    },
    async unmark(id) {
      await rm(join(folder, markerName(id)), { force: true }).catch(unavailable);
    },
    markerFreshMs: 0,
    moveIn() {
      moving ??= folders.moveFlat(closing.signal);
      return moving;
    },

    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the process ends'));
      await moving?.catch(() => {}); // whoever asked for it has been told
    },
  };
}

async function isThere(path: string, mode = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
