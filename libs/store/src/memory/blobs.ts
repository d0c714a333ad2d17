import { Readable } from 'node:stream';
import { Unavailable } from '@mayfly/shared/errors';
import { type BlobStore, LengthMismatch, NOTHING_RESERVED } from '../blobs.ts';

/** Blobs in a map, for unit tests. */
export function memoryBlobs(): BlobStore & { held: Map<string, Buffer> } {
  const held = new Map<string, Buffer>();
  return {
    held,
    reserve: async () => NOTHING_RESERVED,
    async put(id, body, sizeBytes, signal) {
      const chunks: Buffer[] = [];
      for await (const chunk of body) {
        signal.throwIfAborted();
        chunks.push(chunk);
      }
      signal.throwIfAborted();
      const blob = Buffer.concat(chunks);
      if (blob.length !== sizeBytes) throw new LengthMismatch();
      held.set(id, blob);
    },
    async open(id, sizeBytes) {
      const blob = held.get(id);
      if (blob && sizeBytes !== undefined && blob.length !== sizeBytes) {
        throw new Unavailable('A blob has another size than its upload');
      }
      return blob && Readable.from([blob], { objectMode: false });
    },
    async delete(ids) {
      for (const id of ids) held.delete(id);
      return [];
    },
    async *list() {
      yield [...held.keys()].sort().map((id) => ({ id, modifiedAt: new Date() }));
    },
    async endPartials() {
      return 0;
    },
    async check() {},
  };
}
