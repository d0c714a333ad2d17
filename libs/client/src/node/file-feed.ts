import { type FileHandle, open } from 'node:fs/promises';
import type { ByteFeed } from '../byte-feed.ts';
import type { Bytes } from '../bytes.ts';
import { disposed } from './release.ts';

const CHUNK_BYTES = 256 * 1024;

/** A file from a byte on, which is opened when it is read. */
export function feedOfFile(path: string, startBytes = 0): ByteFeed {
  let opening: Promise<FileHandle> | undefined;
  let at = startBytes;
  return {
    async fill(buffer) {
      opening ??= open(path);
      const filled = await readInto(await opening, buffer, at);
      at += filled.length;
      return filled;
    },
    async cancel() {
      await (await opening)?.close();
    },
  };
}

/** One that is open, and stays so. */
export function feedOfHandle(file: FileHandle): ByteFeed {
  let at = 0;
  return {
    async fill(buffer) {
      const filled = await readInto(file, buffer, at);
      at += filled.length;
      return filled;
    },
    async cancel() {},
  };
}

/** Each chunk is read once, and its memory given back. */
export function streamOf(feed: ByteFeed): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const chunk = await feed.fill(disposed(new Uint8Array(CHUNK_BYTES)));
        if (chunk.length > 0) return controller.enqueue(chunk);
        await feed.cancel();
        controller.close();
      },
      cancel: () => feed.cancel(),
    },
    { highWaterMark: 0 },
  );
}

async function readInto(file: FileHandle, buffer: Bytes, startBytes: number): Promise<Bytes> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, startBytes + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
