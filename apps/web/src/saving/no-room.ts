/** There is no room for a file where it was to be saved. */
export class NoRoom extends Error {
  override name = 'NoRoom';
}

/** What browsers throw for that: a full disk, or more than a site may keep. */
export function isNoRoom(error: unknown): boolean {
  return error instanceof NoRoom || (error as DOMException | undefined)?.name === 'QuotaExceededError';
}
