import { NoRoom } from '@mayfly/shared/errors';
import type { UploadSweep } from '../sweep.ts';
import type { AvailableUpload, EncryptedMeta, GoneReason, NewUpload, Uploads } from '../uploads.ts';

type Row = NewUpload & {
  state: 'pending' | 'available' | GoneReason;
  meta?: EncryptedMeta;
  downloadCount: number;
  createdAt: number;
  expiresAt: number;
  dueAt: number;
  leasedUntil: number;
};

/** Uploads in a map, for unit tests. `now` gives milliseconds since 1970. */
export function memoryUploads(
  now: () => number = Date.now,
  { maxBytes = Number.POSITIVE_INFINITY }: { maxBytes?: number } = {},
): Uploads & UploadSweep {
  const rows = new Map<string, Row>();
  /** Blobs to delete, and the bytes that they hold. */
  const deletions = new Map<string, number>();

  const holdsBlob = ({ state }: Row) => state === 'pending' || state === 'available';
  const queueDeletion = (row: Row) => {
    if (holdsBlob(row)) deletions.set(row.id, row.sizeBytes);
  };
  const heldBytes = () =>
    [...deletions.values(), ...[...rows.values()].filter(holdsBlob).map(({ sizeBytes }) => sizeBytes)].reduce(
      (sum, bytes) => sum + bytes,
      0,
    );

  const status = (row: Row) => {
    if (row.state !== 'available') return row.state;
    if (row.downloadCount >= row.maxDownloads) return 'limit_reached';
    return row.expiresAt <= now() ? 'expired' : 'available';
  };
  const inSeconds = (seconds: number) => now() + seconds * 1000;
  const drop = (id: string, isWanted: (row: Row) => boolean) => {
    const row = rows.get(id);
    if (!row || !isWanted(row)) return false;
    queueDeletion(row);
    return rows.delete(id);
  };
  const due = (limit: number, isWanted: (row: Row) => boolean) =>
    [...rows.values()].filter((row) => isWanted(row) && row.dueAt <= now()).slice(0, limit);

  return {
    async begin(upload, leaseSec) {
      if (heldBytes() + upload.sizeBytes > maxBytes) throw new NoRoom('STORAGE_MAX_BYTES is reached');
      rows.set(upload.id, {
        ...upload,
        state: 'pending',
        downloadCount: 0,
        createdAt: now(),
        expiresAt: inSeconds(upload.expireSec),
        dueAt: inSeconds(leaseSec),
        leasedUntil: inSeconds(leaseSec),
      });
    },
    async renewLease(id, leaseSec) {
      const row = rows.get(id);
      if (row) row.leasedUntil = Math.max(row.leasedUntil, inSeconds(leaseSec));
    },
    async publish(id) {
      const row = rows.get(id);
      if (row?.state !== 'pending') return row !== undefined;
      const expiresAt = inSeconds(row.expireSec);
      rows.set(id, { ...row, state: 'available', createdAt: now(), expiresAt, dueAt: expiresAt, leasedUntil: 0 });
      return true;
    },
    async abandon(id) {
      drop(id, (row) => row.state === 'pending');
    },
    async find(id) {
      const row = rows.get(id);
      const is = row && status(row);
      if (!row || is === undefined || is === 'pending') return undefined;
      if (is !== 'available') {
        return { id, status: is, ownerHash: row.ownerHash, hasPassword: row.password !== undefined };
      }
      const { expireSec: _, state: __, dueAt: ___, leasedUntil: ____, createdAt, expiresAt, ...rest } = row;
      return { ...rest, status: is, createdAt: new Date(createdAt), expiresAt: new Date(expiresAt) } as AvailableUpload;
    },
    async setMeta(id, meta) {
      const row = rows.get(id);
      if (!row || status(row) !== 'available' || row.meta) return false;
      row.meta = meta;
      return true;
    },
    async claimDownload(id, leaseSec) {
      const row = rows.get(id);
      if (!row || status(row) !== 'available') return 0;
      row.downloadCount += 1;
      row.leasedUntil = Math.max(row.leasedUntil, inSeconds(leaseSec));
      if (row.downloadCount >= row.maxDownloads) row.dueAt = now();
      return row.downloadCount;
    },
    async returnDownload(id) {
      const row = rows.get(id);
      if (row?.state !== 'available' || row.downloadCount === 0) return;
      row.downloadCount -= 1;
      row.dueAt = row.expiresAt;
    },
    async remove(id) {
      return drop(id, (row) => row.state !== 'pending');
    },
    async blobsDeleted(ids) {
      for (const id of ids) deletions.delete(id);
    },
    async check() {},

    async retire(limit, tombstoneTtlSec) {
      const found = due(limit, (row) => row.state === 'available' && row.leasedUntil <= now());
      for (const row of found) {
        const state = row.downloadCount >= row.maxDownloads ? 'limit_reached' : 'expired';
        queueDeletion(row);
        rows.set(row.id, { ...row, state, dueAt: inSeconds(tombstoneTtlSec) });
      }
      const expired = found.filter((row) => row.downloadCount < row.maxDownloads);
      const unused = expired.filter((row) => row.downloadCount === 0);
      return { count: found.length, expired: expired.length, unused: unused.length };
    },
    async reapAbandoned(limit) {
      const found = due(limit, (row) => row.state === 'pending' && row.leasedUntil <= now());
      for (const { id } of found) drop(id, () => true);
      return found.length;
    },
    async endTombstones(limit) {
      const found = due(limit, (row) => row.state === 'expired' || row.state === 'limit_reached');
      for (const { id } of found) rows.delete(id);
      return found.length;
    },
    async takeDeletions(limit) {
      return [...deletions.keys()].slice(0, limit);
    },
  };
}
