import { statfs } from 'node:fs/promises';
import { NoRoom, Unavailable } from '@mayfly/shared/errors';

/** What is left free on a disk unless the settings say otherwise: the database, its log and the system need some, too. */
const FREE_SHARE = 0.1;
const MOST_FREE_BYTES = 2 ** 30;
/** A file takes whole blocks. */
const BLOCK_BYTES = 4_096;
/** The system is asked again after so long. */
const FRESH_MS = 200;

/** A payload that is under way, and how much of it is not written yet. */
export type Reservation = Disposable & { id: string; leftBytes: number };

/** Gives out the room of a disk down to a floor, to the payloads of this process. Decision exact-ceilings. */
export type Room = {
  /** Keeps so much room until it is written or disposed of. Rejects with NoRoom when the floor would be passed. */
  reserve(id: string, sizeBytes: number): Promise<Reservation>;
  of(id: string): Reservation | undefined;
};

export async function diskBytes(folder: string): Promise<{ size: number; free: number }> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { size: blocks * bsize, free: bavail * bsize };
}

export const defaultMinFree = (diskSize: number) => Math.min(Math.floor(diskSize * FREE_SHARE), MOST_FREE_BYTES);

export function openRoom(folder: string, minFreeBytes: number | undefined): Room {
  const reservations = new Map<string, Reservation>();
  let availableBytes = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const read = async () => {
    // Before the system is asked: what is written meanwhile counts twice for a moment, and never not at all.
    const underWay = [...reservations.values()].reduce((sum, { leftBytes }) => sum + leftBytes, 0);
    const { size, free } = await diskBytes(folder);
    availableBytes = free - underWay - (minFreeBytes ?? defaultMinFree(size));
    readAt = performance.now();
  };
  /** Whoever comes while the system is asked waits: nothing is given out between the question and its answer. */
  const refresh = async () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await reading.catch((cause: unknown) => {
      throw new Unavailable('The blob folder cannot be looked at', { cause });
    });
  };

  return {
    async reserve(id, sizeBytes) {
      const leftBytes = Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
      while (reading || performance.now() - readAt > FRESH_MS) await refresh();
      // Before anybody is refused: something may have been deleted a moment ago.
      if (leftBytes > availableBytes)
        do await refresh();
        while (reading);
      if (leftBytes > availableBytes) throw new NoRoom('the disk of BLOB_DIR is down to STORAGE_MIN_FREE_BYTES');
      availableBytes -= leftBytes;
      const reservation = { id, leftBytes, [Symbol.dispose]: () => void reservations.delete(id) };
      reservations.set(id, reservation);
      return reservation;
    },
    of: (id) => reservations.get(id),
  };
}
