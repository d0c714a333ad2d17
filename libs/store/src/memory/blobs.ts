import { Readable } from 'node:stream';
import { Unavailable } from '@mayfly/shared/errors';
import { type BlobStore, NOTHING_RESERVED } from '../blobs.ts';
import { collected, memoryParts } from './parts.ts';

/** Blobs in a map, for unit tests. */
export function memoryBlobs(): BlobStore & { held: Map<string, Buffer>; parts: ReturnType<typeof memoryParts> } {
  const held = new Map<string, Buffer>();
  return {
    held,
    parts: memoryParts(held),
    reserve: async () => NOTHING_RESERVED,
    async put(id, body, sizeBytes, signal) {
      held.set(id, await collected(body, sizeBytes, signal));
    },
    async open(id, sizeBytes, { first, last } = { first: 0, last: Number.POSITIVE_INFINITY }) {
      const blob = held.get(id);
      if (blob && sizeBytes !== undefined && blob.length !== sizeBytes) {
        throw new Unavailable('A blob has another size than its upload');
      }
      return blob && Readable.from([blob.subarray(first, last + 1)], { objectMode: false });
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
