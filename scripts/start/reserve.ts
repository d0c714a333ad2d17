import { randomFillSync } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const MIB = 2 ** 20;
/** Below this a disk counts as full. */
const FULL_BYTES = 2 * MIB;

/**
 * Two files that only take space, on the disk that the stores share with everything else. When it is full the first is let go
 * of, so that PostgreSQL can write what is needed to forget; the second only when PostgreSQL has died, for it needs a piece of
 * its log to start. Both are made again when there is room. Decision disk-reserve.
 */
export type Reserve = {
  /** Lets go of the first file where the disk is full, and makes what is missing where there is room. True when it let go. */
  adjust(): boolean;
  /** Lets go of everything where the disk is full. True when there was something. */
  releaseAll(): boolean;
};

export function diskOf(folder: string): { size: number; free: number } {
  const { bsize, blocks, bavail } = statfsSync(folder);
  return { size: bsize * blocks, free: bsize * bavail };
}

export function openReserve(folder: string): Reserve {
  const share = Math.floor(diskOf(folder).size / 20);
  const forSweeps = { path: join(folder, 'reserve-for-sweeps'), bytes: Math.min(Math.floor(share / 2), 32 * MIB) };
  const forStart = { path: join(folder, 'reserve-for-start'), bytes: Math.min(share, 64 * MIB) };
  const release = ({ path }: { path: string }) => {
    const isThere = existsSync(path);
    rmSync(path, { force: true });
    return isThere;
  };
  const isFull = () => diskOf(folder).free < FULL_BYTES;
  return {
    adjust() {
      if (isFull()) return release(forSweeps);
      // Never the last bit of room, or the next look would let go of it again.
      for (const { path, bytes } of [forStart, forSweeps]) {
        if (!existsSync(path) && diskOf(folder).free >= 2 * bytes + FULL_BYTES) make(path, bytes);
      }
      return false;
    },
    releaseAll: () => isFull() && [forSweeps, forStart].map(release).some(Boolean),
  };
}

/** Under another name until it is whole. Best effort: without it the service runs as well, until the disk is full. */
function make(path: string, bytes: number) {
  const draft = `${path}.part`;
  const piece = randomFillSync(Buffer.alloc(MIB)); // what a file system that compresses cannot make smaller
  try {
    const opened = openSync(draft, 'w', 0o600);
    try {
      for (let left = bytes; left > 0; left -= MIB) writeSync(opened, piece, 0, Math.min(left, MIB));
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
    renameSync(draft, path);
  } catch {
    rmSync(draft, { force: true }); // somebody else was quicker to take the room
  }
}
