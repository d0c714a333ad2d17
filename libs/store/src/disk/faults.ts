import { NoRoom, Unavailable } from '@mayfly/shared/errors';

/** What a system says of a disk, or of an account's share of it, that is full. */
const FULL = ['ENOSPC', 'EDQUOT'];

export function unavailable(cause: unknown): never {
  if (cause instanceof NoRoom) throw cause;
  if (FULL.includes(codeOf(cause) ?? '')) throw new NoRoom('the disk of BLOB_DIR is full', { cause });
  throw new Unavailable('The blob folder cannot be written', { cause });
}

export function unreadable(cause: unknown): never {
  throw new Unavailable('The blob folder cannot be read', { cause });
}

export const isMissing = (error: unknown) => codeOf(error) === 'ENOENT';

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
