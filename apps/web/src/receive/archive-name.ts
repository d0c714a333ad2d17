import type { FileEntry } from '@mayfly/client';

/** For a folder its name, else the day: `photos.zip`, `mayfly-2026-11-21.zip`. */
export function archiveName(files: Pick<FileEntry, 'name'>[], today = new Date()): string {
  const tops = new Set(files.map(({ name }) => (name.includes('/') ? name.split('/', 1)[0] : undefined)));
  const [top] = tops;
  return `${tops.size === 1 && top ? top : `mayfly-${today.toISOString().slice(0, 10)}`}.zip`;
}
