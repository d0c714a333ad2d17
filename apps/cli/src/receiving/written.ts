import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { FileEntry } from '@mayfly/client';
import type { Kept, PartialFolder, Position } from './partial-folder.ts';

/** In a partial folder, by its place in the metadata. */
export const pathOf = ({ path }: PartialFolder, index: number) => join(path, String(index));

export const nothingOf = (index: number): Position => ({ index, bytes: 0, crc32: 0 });

/**
 * How much of what was kept is as it was then. Whole files are told by their size, and by not having changed since the record was written;
 * the one in the middle by the checksum of what the record says of it, since a process that was killed has written more: against
 * chance, since whoever can change the one can change the other.
 */
export async function findStart(
  folder: PartialFolder,
  { record, savedMs }: Kept,
  files: FileEntry[],
): Promise<Position> {
  const { position, indexes } = record;
  for (const index of indexes.slice(0, indexes.indexOf(position.index))) {
    if (!(await isWhole(folder, index, files[index]?.size, savedMs))) return nothingOf(index);
  }
  return (await checkMiddle(folder, position)) ?? nothingOf(position.index);
}

async function isWhole(folder: PartialFolder, index: number, size: number | undefined, savedMs: number) {
  const found = await lstat(pathOf(folder, index)).catch(() => undefined);
  return found?.isFile() === true && found.size === size && found.mtimeMs <= savedMs;
}

async function checkMiddle(folder: PartialFolder, position: Position): Promise<Position | undefined> {
  const { index, bytes } = position;
  try {
    await using file = await openWritten(folder, index);
    const found = await file.stat();
    if (!found.isFile() || found.size < bytes) return undefined;
    let sum = 0;
    if (bytes > 0) {
      for await (const piece of file.createReadStream({ start: 0, end: bytes - 1, autoClose: false }))
        sum = crc32(piece, sum);
    }
    if (sum !== position.crc32) return undefined;
    await file.truncate(bytes);
    return position;
  } catch {
    return undefined; // it is not there, or no file
  }
}

/** To go on with a file, or to read what is there. */
export function openWritten(folder: PartialFolder, index: number): Promise<FileHandle> {
  return open(pathOf(folder, index), constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/** Empty, whatever was in its place. */
export async function openAnew(folder: PartialFolder, index: number): Promise<FileHandle> {
  const path = pathOf(folder, index);
  await rm(path, { recursive: true, force: true });
  return open(path, 'wx', 0o600);
}

/** Bytes of files that are here, of those that were asked for. */
export function doneBytes(
  files: FileEntry[],
  indexes: number[],
  { index, bytes }: Pick<Position, 'index' | 'bytes'>,
): number {
  return sizeOf(files, indexes.slice(0, indexes.indexOf(index))) + bytes;
}

export function sizeOf(files: FileEntry[], indexes: number[]): number {
  return indexes.reduce((sum, index) => sum + (files[index]?.size ?? 0), 0);
}
