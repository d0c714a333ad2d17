import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MayflyError } from '../errors.ts';
import type { Spool } from '../stream-uploads.ts';
import { feedOfHandle, streamOf } from './file-feed.ts';

/** Keeps an encrypted payload in a file without a name. Fails with `too-large` as soon as it is over the maximum. */
export function fileSpool({ folder = tmpdir(), maxBytes = Number.POSITIVE_INFINITY } = {}): Spool {
  return async (payload, signal) => {
    const path = join(folder, `mayfly-${randomUUID()}`);
    const file = await open(path, 'wx+', 0o600);
    try {
      // Open files stay without their name: whatever ends this process, nothing is left behind.
      await unlink(path);
      const sizeBytes = await write(payload, file, maxBytes, signal);
      return {
        stream: streamOf(feedOfHandle(file)),
        sizeBytes,
        [Symbol.asyncDispose]: () => file.close(),
      };
    } catch (error) {
      await file.close();
      throw error;
    }
  };
}

async function write(payload: ReadableStream<Uint8Array>, file: FileHandle, maxBytes: number, signal?: AbortSignal) {
  let sizeBytes = 0;
  const sink = new WritableStream<Uint8Array>({
    async write(chunk) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw new MayflyError('too-large');
      for (let at = 0; at < chunk.length; ) {
        at += (await file.write(chunk, at, chunk.length - at, sizeBytes - chunk.length + at)).bytesWritten;
      }
    },
  });
  await payload.pipeTo(sink, signal ? { signal } : {});
  return sizeBytes;
}
