import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { MayflyError } from '../errors.ts';
import type { Source } from '../source.ts';

const CHUNK_BYTES = 256 * 1024;

/** A file of this machine, read when it is sent. `invalid-request` when it is not a regular file. */
export async function fileSource(path: string, { name = basename(path), type = '' } = {}): Promise<Source> {
  const facts = await stat(path);
  if (!facts.isFile()) throw new MayflyError('invalid-request', { message: `${path} is not a file` });
  return {
    name,
    type,
    size: facts.size,
    lastModified: facts.mtimeMs,
    stream: () => Readable.toWeb(createReadStream(path, { highWaterMark: CHUNK_BYTES })) as ReadableStream<Uint8Array>, // no text
  };
}
