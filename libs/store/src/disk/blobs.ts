import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@mayfly/shared/errors';
import { type BlobStore, LengthMismatch } from '../blobs.ts';

/** Reads of 1 MiB cost less than half the CPU of Node's default 64 KiB. */
const READ_BYTES = 1024 * 1024;

/** Blobs as files of one folder, which is made when missing. Several processes of one machine may share it. */
export async function openDiskBlobs(folder: string): Promise<BlobStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pathOf = (id: string) => join(folder, `${id}.bin`);

  return {
    async put(id, body, sizeBytes, signal) {
      const path = pathOf(id);
      const partial = `${path}.part`;
      try {
        const file = await open(partial, 'wx', 0o600).catch(unavailable);
        try {
          await writeExactly(file, body, sizeBytes, signal);
          await file.datasync().catch(unavailable);
        } finally {
          await file.close();
        }
        await rename(partial, path).catch(unavailable);
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
    },

    async open(id) {
      try {
        const file = await open(pathOf(id), 'r');
        return file.createReadStream({ highWaterMark: READ_BYTES });
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined;
        throw new Unavailable('The blob folder cannot be read', { cause: error });
      }
    },

    async delete(ids) {
      const failed: string[] = [];
      for (const id of ids) {
        try {
          await rm(pathOf(id), { force: true });
          await rm(`${pathOf(id)}.part`, { force: true });
        } catch {
          failed.push(id); // reported, so that the caller tries again later
        }
      }
      return failed;
    },

    async check() {
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).catch(unavailable);
    },
  };
}

type Writable = { write(chunk: Buffer): Promise<unknown> };

/** Writes the body chunk by chunk. Stops at the first byte too many; the body itself is left as it is. */
async function writeExactly(file: Writable, body: AsyncIterable<Buffer>, sizeBytes: number, signal: AbortSignal) {
  let written = 0;
  for await (const chunk of body) {
    signal.throwIfAborted();
    if (written + chunk.length > sizeBytes) throw new LengthMismatch();
    await writeAll(file, chunk);
    written += chunk.length;
  }
  signal.throwIfAborted();
  if (written !== sizeBytes) throw new LengthMismatch();
}

async function writeAll(file: Writable, chunk: Buffer) {
  await file.write(chunk).catch(unavailable);
}

function unavailable(cause: unknown): never {
  throw new Unavailable('The blob folder cannot be written', { cause });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
