import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@mayfly/shared/errors';
import { type BlobParts, lengthOf, PartsGone, PartsRefused } from '../blob-parts.ts';
import type { Part } from '../upload-sessions.ts';
import type { openBlobFolders } from './blob-folders.ts';
import { codeOf, isMissing, unavailable } from './faults.ts';
import type { Room } from './room.ts';
import { writeExactly } from './write-exactly.ts';

/** What the parts are put together in. */
const WHOLE = 'whole';
const COPIED_AT_ONCE = 1024 * 1024;

/**
 * The parts of a payload are files in a folder of their own beside it, `<id>.parts/<number>.<tag>`: every try is another file, and
 * without the folder there is nothing to add to. Decision uploads-in-parts.
 */
export function openDiskParts(folders: ReturnType<typeof openBlobFolders>, room: Room): BlobParts {
  const pathOf = (id: string, { number, tag }: Pick<Part, 'number' | 'tag'>) =>
    join(folders.partsOf(id), `${number}.${tag}`);

  /** Whether the payload is there, safe from a power cut. */
  async function isComplete(id: string, sizeBytes: number): Promise<boolean> {
    const file = await openIfThere(folders.pathOf(id), 'r');
    if (!file) return false;
    await using _ = closing(file);
    if ((await file.stat()).size !== sizeBytes) throw new Unavailable('A blob has another size than its parts');
    await file.sync();
    return true;
  }

  /**
   * Each part to its place in one file, in order, and only then its own file goes. So a part without a file is in there already, and
   * any number of processes may do the same at once: they write the same bytes to the same places.
   */
  async function putTogether(file: FileHandle, id: string, parts: Part[]) {
    let offset = 0;
    for (const part of parts) {
      const path = pathOf(id, part);
      const source = await openIfThere(path, 'r');
      if (source) {
        await using _ = closing(source);
        if ((await source.stat()).size !== part.bytes) throw new PartsRefused([part.number]);
        using _room = await room.reserve(randomUUID(), part.bytes);
        await copy(source, file, offset);
        await file.datasync();
        await rm(path, { force: true });
      } else if ((await file.stat()).size < offset + part.bytes) throw new PartsRefused([part.number]);
      offset += part.bytes;
    }
    await file.truncate(offset);
  }

  async function assemble(id: string, parts: Part[]) {
    const whole = join(folders.partsOf(id), WHOLE);
    const file = await openIfThere(whole, constants.O_RDWR | constants.O_CREAT);
    if (!file) throw new PartsGone();
    await using _ = closing(file);
    await putTogether(file, id, parts);
    // Unlike a rename it takes nobody's place: what is complete stays, whoever comes late.
    await link(whole, folders.pathOf(id)).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST' && !isMissing(error)) throw error;
    });
  }

  return {
    async begin(id) {
      await folders.create(id, () => mkdir(folders.partsOf(id), { mode: 0o700 })).catch(unavailable);
      return 'disk';
    },

    async put({ id, number }, body, sizeBytes, signal) {
      using reserved = await room.reserve(randomUUID(), sizeBytes);
      const tag = randomUUID();
      const path = pathOf(id, { number, tag });
      const file = await openIfThere(path, 'wx');
      if (!file) throw new PartsGone();
      try {
        await using _ = closing(file);
        await writeExactly(file, body, { sizeBytes, signal, reserved });
        await file.sync().catch(unavailable);
        return tag;
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },

    async drop({ id, number }, tag) {
      await rm(pathOf(id, { number, tag }), { force: true }).catch(unavailable);
    },

    async complete(id, _storeRef, parts) {
      const sizeBytes = lengthOf(parts);
      if (!(await isComplete(id, sizeBytes).catch(unavailable))) {
        let fault: unknown;
        await assemble(id, parts).catch((error: unknown) => {
          fault = error;
        });
        // Somebody else may have been quicker, and then a part or the folder is missed.
        if (!(await isComplete(id, sizeBytes).catch(unavailable))) {
          throw fault instanceof PartsGone || fault instanceof PartsRefused ? fault : unavailable(fault);
        }
      }
      await forget(id);
    },

    abort: (id) => forget(id),
  };

  async function forget(id: string) {
    await rm(folders.partsOf(id), { recursive: true, force: true, maxRetries: 3 }).catch(unavailable);
  }
}

/** Undefined when it, or the folder that it would be in, is not there. */
async function openIfThere(path: string, flags: string | number): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    return isMissing(error) ? undefined : unavailable(error);
  }
}

const closing = (file: FileHandle): AsyncDisposable => ({ [Symbol.asyncDispose]: () => file.close() });

async function copy(from: FileHandle, to: FileHandle, offset: number) {
  const piece = Buffer.allocUnsafe(COPIED_AT_ONCE);
  for (let at = 0; ; ) {
    const { bytesRead } = await from.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return;
    for (let written = 0; written < bytesRead; ) {
      const { bytesWritten } = await to.write(piece, written, bytesRead - written, offset + at + written);
      written += bytesWritten;
    }
    at += bytesRead;
  }
}
