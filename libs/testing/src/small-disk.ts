import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type SmallDisk = AsyncDisposable & {
  path: string;
  /** From now on it has room for so many bytes more. */
  leave(bytes: number): void;
};

const MOST_TRIES = 20;

/** A disk of a few bytes, in memory. Only root can make one: see `noSmallDisk`. */
export function smallDisk(sizeBytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'mayfly-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=0755`, 'tmpfs', path], { stdio: 'pipe' });
  chmodSync(path, 0o755); // for the account that PostgreSQL runs as
  return {
    path,
    leave(bytes) {
      for (let tries = 1; ; tries += 1) {
        const { blocks, bfree, bsize } = statfsSync(path);
        const size = (blocks - bfree) * bsize + bytes;
        try {
          execFileSync('mount', ['-o', `remount,size=${size}`, path], { stdio: 'pipe' });
          return;
        } catch (error) {
          if (tries === MOST_TRIES) throw error; // else more was written meanwhile than it would hold
        }
      }
    },
    async [Symbol.asyncDispose]() {
      execFileSync('umount', ['-l', path], { stdio: 'pipe' });
      rmSync(path, { recursive: true });
    },
  };
}

/** Why no small disk can be made here; undefined when one can. */
export const noSmallDisk: string | undefined = reason();

function reason(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can mount one';
  try {
    void smallDisk(1024 * 1024)[Symbol.asyncDispose]();
    return undefined;
  } catch {
    return 'this root may not mount anything';
  }
}
