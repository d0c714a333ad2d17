import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { MayflyError } from '@mayfly/client';
import { asDiskError } from '../save.ts';
import { batched } from './batched.ts';
import type { PartialFolder, Position } from './partial-folder.ts';
import { nothingOf, openAnew, openWritten } from './written.ts';

/** So much is lost at most when the process is killed, or the power fails: what waits to be written, and to be kept. */
const WRITE_MS = 250;
const SAVE_MS = 250;

export type ArrivingFile = { index: number; stream: ReadableStream<Uint8Array> };

/** Writes files while they come. `save` hears again and again, and when something fails, how much is safely on the disk. */
export async function writeFiles(
  files: AsyncIterable<ArrivingFile>,
  folder: PartialFolder,
  start: Position,
  save: (position: Position) => Promise<void>,
) {
  let at = start;
  let savedMs = performance.now();
  let saving: Promise<void> | undefined;
  /** Beside what is being written: the network does not wait for the disk. */
  const saveFrom = async (file: FileHandle) => {
    const position = at;
    await file.datasync();
    await save(position);
    savedMs = performance.now();
  };
  try {
    for await (const { index, stream } of files) {
      at = index === start.index ? start : nothingOf(index);
      await using file = at.bytes > 0 ? await openWritten(folder, index) : await openAnew(folder, index);
      try {
        for await (const piece of batched(stream, WRITE_MS)) {
          await writeAll(file, piece, at.bytes);
          at = { index, bytes: at.bytes + piece.length, crc32: crc32(piece, at.crc32) };
          if (saving || performance.now() - savedMs < SAVE_MS) continue;
          // Best effort: what cannot be kept now may be kept a moment later, and nothing else depends on it.
          saving = saveFrom(file)
            .catch(() => {})
            .finally(() => {
              saving = undefined;
            });
        }
      } finally {
        await saving;
        await file.sync();
      }
    }
  } catch (error) {
    // Best effort: then it goes on a little further back.
    await save(at).catch(() => {});
    throw error instanceof MayflyError ? error : asDiskError(error);
  }
}

async function writeAll(file: FileHandle, piece: Uint8Array, atBytes: number) {
  for (let written = 0; written < piece.length; ) {
    written += (await file.write(piece, written, piece.length - written, atBytes + written)).bytesWritten;
  }
}
