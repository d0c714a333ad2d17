import type { BlobParts } from './blob-parts.ts';

/** Parts go to, and are deleted from, the database's own store only: `assertUsable` rejects where it is not, or nobody knows. */
export function pairedParts(parts: BlobParts, assertUsable: () => Promise<void>): BlobParts {
  return {
    async begin(id) {
      await assertUsable();
      return parts.begin(id);
    },
    async put(...given) {
      await assertUsable();
      return parts.put(...given);
    },
    drop: (...given) => parts.drop(...given),
    async complete(...given) {
      await assertUsable();
      await parts.complete(...given);
    },
    async abort(...given) {
      await assertUsable();
      await parts.abort(...given);
    },
  };
}
