import { claimedKind, type Kind } from '../previews/kinds.ts';

export type IconName = Kind | 'file' | 'archive' | 'files' | 'note' | 'lock' | 'done' | 'send';

const ARCHIVE = /\.(zip|7z|rar|tar|t?gz|bz2|xz|zst)$/i;

/** What a file is by its type and name, as its sender describes it: nothing of it is read for a sign. */
export function iconOf({ name, type = '' }: { name: string; type?: string }): IconName {
  return claimedKind(name, type.toLowerCase()) ?? (ARCHIVE.test(name) ? 'archive' : 'file');
}
