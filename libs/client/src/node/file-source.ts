import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { MayflyError } from '../errors.ts';
import type { Source } from '../source.ts';
import { feedOfFile, streamOf } from './file-feed.ts';

/** A file of this machine, read when it is sent. `invalid-request` when it is not a regular file. */
export async function fileSource(path: string, { name = basename(path), type = '' } = {}): Promise<Source> {
  const facts = await stat(path);
  if (!facts.isFile()) throw new MayflyError('invalid-request', { message: `${path} is not a file` });
  const feed = (start = 0) => feedOfFile(path, start);
  const stream = (start = 0) => streamOf(feed(start));
  return {
    name,
    type,
    size: facts.size,
    lastModified: facts.mtimeMs,
    stream: () => stream(),
    slice: (start) => ({ stream: () => stream(start), feed: () => feed(start) }),
  };
}
