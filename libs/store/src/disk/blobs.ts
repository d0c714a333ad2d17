import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { NoRoom, Unavailable } from '@mayfly/shared/errors';
import { type BlobStore, idOf, LengthMismatch, type StoredBlob } from '../blobs.ts';
import { MARKER_TEXT, type MarkedPlace, markerIdOf, markerName } from '../marker.ts';
import { codeOf, isMissing, openBlobFolders, unreadable } from './blob-folders.ts';
import { PayloadStream } from './payload-stream.ts';
import { openRoom, type Reservation } from './room.ts';

const PARTIAL = '.part';
const PAGE = 1_000;

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

    async open(id, sizeBytes) {
      const file = await folders.find(id, (path) => open(path, 'r'));
      if (!file) return undefined;
      try {
        const { size } = await file.stat();
        if (sizeBytes !== undefined && size !== sizeBytes) throw new Error('a blob has another size than its upload');
        return new PayloadStream(file, size);
      } catch (error) {
        await file.close();
        return unreadable(error);
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

    async endPartials(before, isDryRun) {
      let found = 0;
      for await (const path of folders.paths()) {
        if (!path.endsWith(PARTIAL) || idOf(basename(path, PARTIAL)) === undefined) continue;
        const modifiedAt = await modifiedAtOf(path);
        if (!modifiedAt || modifiedAt >= before) continue;
        found += 1;
        if (!isDryRun) await rm(path, { force: true }).catch(unavailable);
      }
      return found;
    },

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

type Writable = Pick<FileHandle, 'writev'>;

/** What may wait while other bytes are being written; then the sender waits, too. */
const WAITING_BYTES = 1024 * 1024;

/**
 * Writes the body as it comes. While a write runs, chunks gather for the next one: a fast body takes few large writes,
 * and of a slow one nothing is held. Stops at the first byte too many; the body itself is left as it is.
 */
async function writeExactly(
  file: Writable,
  body: AsyncIterable<Buffer>,
  { sizeBytes, signal, reserved }: { sizeBytes: number; signal: AbortSignal; reserved: Reservation },
) {
  let [received, waitingBytes] = [0, 0];
  let waiting: Buffer[] = [];
  let writing: Promise<void> | undefined;
  let fault: unknown;
  const writeWaiting = async () => {
    try {
      while (waiting.length > 0) {
        const [chunks, wanted] = [waiting, waitingBytes];
        [waiting, waitingBytes] = [[], 0];
        const { bytesWritten } = await file.writev(chunks);
        if (bytesWritten < wanted) throw new NoRoom('the disk took less than it was given');
        reserved.leftBytes -= bytesWritten;
      }
    } catch (error) {
      fault = error;
    } finally {
      writing = undefined;
    }
  };
  try {
    for await (const chunk of body) {
      signal.throwIfAborted();
      received += chunk.length;
      if (received > sizeBytes) throw new LengthMismatch();
      waiting.push(chunk);
      waitingBytes += chunk.length;
      writing ??= writeWaiting();
      if (waitingBytes >= WAITING_BYTES) await writing;
      if (fault) break;
    }
    signal.throwIfAborted();
    if (!fault && received !== sizeBytes) throw new LengthMismatch();
  } finally {
    await writing;
  }
  if (fault) unavailable(fault);
}

/** What a system says of a disk, or of an account's share of it, that is full. */
const FULL = ['ENOSPC', 'EDQUOT'];

function unavailable(cause: unknown): never {
  if (cause instanceof NoRoom) throw cause;
  if (FULL.includes(codeOf(cause) ?? '')) throw new NoRoom('the disk of BLOB_DIR is full', { cause });
  throw new Unavailable('The blob folder cannot be written', { cause });
}

async function isThere(path: string, mode = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** Undefined when it has been removed meanwhile. */
async function modifiedAtOf(path: string): Promise<Date | undefined> {
  try {
    return (await stat(path)).mtime;
  } catch (error) {
    return isMissing(error) ? undefined : unreadable(error);
  }
}
