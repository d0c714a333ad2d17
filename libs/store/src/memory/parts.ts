import { randomUUID } from 'node:crypto';
import { type BlobParts, lengthOf, PartsGone, PartsRefused } from '../blob-parts.ts';
import { LengthMismatch } from '../blobs.ts';

/** The whole body, or what is wrong with it. */
export async function collected(body: AsyncIterable<Buffer>, sizeBytes: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) {
    signal.throwIfAborted();
    chunks.push(chunk);
  }
  signal.throwIfAborted();
  const whole = Buffer.concat(chunks);
  if (whole.length !== sizeBytes) throw new LengthMismatch();
  return whole;
}

/** Parts in a map beside that of the whole payloads, for unit tests. Every try is kept under its tag. */
export function memoryParts(held: Map<string, Buffer>): BlobParts & { coming: Map<string, Map<string, Buffer>> } {
  const coming = new Map<string, Map<string, Buffer>>();
  return {
    coming,
    async begin(id) {
      coming.set(id, new Map());
      return 'memory';
    },
    async put({ id }, body, sizeBytes, signal) {
      const part = await collected(body, sizeBytes, signal);
      const tries = coming.get(id);
      if (!tries) throw new PartsGone();
      const tag = randomUUID();
      tries.set(tag, part);
      return tag;
    },
    async drop({ id }, tag) {
      coming.get(id)?.delete(tag);
    },
    async complete(id, _storeRef, parts) {
      if (held.get(id)?.length === lengthOf(parts)) return;
      const tries = coming.get(id);
      if (!tries) throw new PartsGone();
      const refused = parts.filter(({ tag, bytes }) => tries.get(tag)?.length !== bytes).map(({ number }) => number);
      if (refused.length > 0) throw new PartsRefused(refused);
      held.set(id, Buffer.concat(parts.map(({ tag }) => tries.get(tag) ?? Buffer.alloc(0))));
      coming.delete(id);
    },
    async abort(id) {
      coming.delete(id);
    },
  };
}
