import type { Hooks } from '../hooks.ts';
import type { AvailableUpload, EncryptedMeta, GoneReason, NewUpload } from '../uploads.ts';

/** An upload in a map. Times are milliseconds since 1970. */
export type UploadRow = NewUpload & {
  state: 'pending' | 'available' | GoneReason;
  meta?: EncryptedMeta;
  downloadCount: number;
  createdAt: number;
  expiresAt: number;
  dueAt: number;
  leasedUntil: number;
  heldBytes: number;
  /** Downloads under way. */
  readers: number;
  usedAt: number[];
  wholeCount: number;
  hooks?: Hooks | undefined;
};

export function statusOf(row: UploadRow, now: number): UploadRow['state'] {
  if (row.state !== 'available') return row.state;
  if (row.downloadCount >= row.maxDownloads) return 'limit_reached';
  return row.expiresAt <= now ? 'expired' : 'available';
}

/** What everybody may know of it, whatever its state. */
export function availableUpload(row: UploadRow): AvailableUpload {
  const { expireSec: _, state: __, dueAt: ___, leasedUntil: ____, readers: _____, ...more } = row;
  const { usedAt: ______, wholeCount: _______, hooks: ________, ...rest } = more;
  const times = { createdAt: new Date(row.createdAt), expiresAt: new Date(row.expiresAt) };
  return { ...rest, ...times, status: 'available' } as AvailableUpload;
}

export const toMinute = (at: number) => at - (at % 60_000);
