import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Download, MayflyError, unpack } from '@mayfly/client';
import { type Destination, exists, numbered } from './destination.ts';
import { CliError } from './exit-codes.ts';

/**
 * Writes the files of a download and returns where they are. They get their names only after the last segment was
 * verified; whatever fails before leaves nothing behind.
 */
export async function saveFiles(
  { metadata, payload }: Download,
  { folder, paths }: Destination,
  { mayReplace }: { mayReplace: boolean },
): Promise<string[]> {
  return withTemporary(folder, async (temporary) => {
    let number = 0;
    for await (const { stream } of unpack(metadata, payload)) {
      await write(stream, join(temporary, String(number)));
      number += 1;
    }
    const saved: string[] = [];
    for (const [index, path] of paths.entries()) {
      saved.push(await place(join(temporary, String(index)), path, mayReplace));
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
    throw new CliError('disk', `The file could not be written (${(error as NodeJS.ErrnoException).code})`, error);
  }
}

/** Never replaces what came there meanwhile: a file that was paid for with a download gets the next free name. */
async function place(from: string, path: string, mayReplace: boolean): Promise<string> {
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
