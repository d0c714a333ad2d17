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
  const read = (start = 0) => {
    const content = createReadStream(path, { start, highWaterMark: CHUNK_BYTES });
    return Readable.toWeb(content) as ReadableStream<Uint8Array>; // no text
  };
  if (!facts.isFile()) throw new MayflyError('invalid-request', { message: `${path} is not a file` });
  return {
    name,
    type,
    size: facts.size,
    lastModified: facts.mtimeMs,
    stream: () => read(),
    slice: (start) => ({ stream: () => read(start) }),
  };
}
