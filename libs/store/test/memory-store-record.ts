import type { StoreRecord } from '../src/marker.ts';

/** A record in memory: of an empty database unless it knows uploads. */
export function memoryStoreRecord({ uploads = [] as string[] } = {}): StoreRecord {
  let known: { id: string; isMarked: boolean } | undefined;
  return {
    read: async () => known,
    async settle(id) {
      known ??= { id, isMarked: false };
      return known.id;
    },
    async marked() {
      if (known) known.isMarked = true;
    },
    hasUploads: async () => uploads.length > 0,
    sample: async (limit) => uploads.slice(0, limit),
  };
}
