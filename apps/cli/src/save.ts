import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Download, MayflyError, unpack } from '@mayfly/client';
import { exists, numbered } from './destination.ts';
import { CliError } from './exit-codes.ts';

/** A file that was received, and how many bytes it has. */
export type Saved = { path: string; size: number };

/**
 * Writes files of a download, all of them unless `indexes` says which, and returns where they are. They get their names only after the last
 * segment was verified; whatever fails before leaves nothing behind.
 */
export async function saveFiles(
  { metadata, payload }: Download,
  folder: string,
  {
    paths,
    indexes = [...metadata.files.keys()],
    mayReplace,
  }: { paths: string[]; indexes?: number[]; mayReplace: boolean },
): Promise<Saved[]> {
  return withTemporary(folder, async (temporary) => {
    let number = 0;
    for await (const { stream } of unpack(metadata, payload)) {
      if (indexes.includes(number)) await write(stream, join(temporary, String(number)));
      number += 1;
    }
    const saved: Saved[] = [];
    for (const [at, index] of indexes.entries()) {
      const path = await place(join(temporary, String(index)), paths[at] ?? '', mayReplace);
      saved.push({ path, size: metadata.files[index]?.size ?? 0 });
    }
    return saved;
  });
}

/** The same for a text. */
export async function saveText(text: string, path: string, { mayReplace }: { mayReplace: boolean }): Promise<string> {
  return withTemporary(dirname(path), async (temporary) => {
    const written = join(temporary, 'note');
    await writeFile(written, text, { mode: 0o600, flush: true });
    return place(written, path, mayReplace);
  });
}

/** In the folder itself, so that a file gets its name without being copied. */
async function withTemporary<T>(folder: string, work: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = join(folder, `.mayfly-${randomUUID()}.part`);
  await mkdir(temporary, { mode: 0o700 });
  try {
    return await work(temporary);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function write(stream: ReadableStream<Uint8Array>, path: string) {
  try {
    await pipeline(Readable.fromWeb(stream as never), createWriteStream(path, { flush: true })); // typed for Node only
  } catch (error) {
    if (error instanceof MayflyError) throw error;
    throw asDiskError(error);
  }
}

export function asDiskError(error: unknown): CliError {
  const reason = (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.message : String(error));
  return new CliError('disk', `The file could not be written (${reason})`, error);
}

/** Never replaces what came there meanwhile: a file that was paid for with a download gets the next free name. */
export async function place(from: string, path: string, mayReplace: boolean): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  if (mayReplace) {
    await rename(from, path);
    return path;
  }
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? path : numbered(path, number);
    try {
      await link(from, free);
      await unlink(from);
      return free;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      // A file system without links: looking first is the best that is left.
      if (await exists(free)) continue;
      await rename(from, free);
      return free;
    }
  }
}
