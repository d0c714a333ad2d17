import { NoRoom } from '@mayfly/shared/errors';
import type { LeaseRecord } from '../download-leases.ts';
import type { UploadSweep } from '../sweep.ts';
import type { Uploads } from '../uploads.ts';
import { memoryOutbox } from './notices.ts';
import { availableUpload, statusOf, toMinute, type UploadRow } from './upload-row.ts';

/** Uploads in a map, for unit tests. `now` gives milliseconds since 1970. */
export function memoryUploads(
  now: () => number = Date.now,
  { maxBytes = Number.POSITIVE_INFINITY }: { maxBytes?: number } = {},
): Uploads &
  UploadSweep & {
    rows: Map<string, UploadRow>;
    refs: Map<string, { storeRef: string; tries: number }>;
    heldBytes: () => number;
    assertRoom: (bytes: number) => void;
    leases: Map<string, LeaseRecord>;
    outbox: ReturnType<typeof memoryOutbox>;
  } {
  const rows = new Map<string, UploadRow>();
  /** What the blob store calls those that come in parts, and how often they were to be deleted. */
  const refs = new Map<string, { storeRef: string; tries: number }>();
  const leases = new Map<string, LeaseRecord>();
  const outbox = memoryOutbox(now);
  /** Blobs to delete, and the bytes that they hold. */
  const deletions = new Map<string, number>();

  const holdsBlob = ({ state }: UploadRow) => state === 'pending' || state === 'available';
  const queueDeletion = (row: UploadRow) => {
    if (holdsBlob(row)) deletions.set(row.id, row.heldBytes);
  };
  const heldBytes = () =>
    [...deletions.values(), ...[...rows.values()].filter(holdsBlob).map((row) => row.heldBytes)].reduce(
      (sum, bytes) => sum + bytes,
      0,
    );
  const assertRoom = (bytes: number) => {
    if (heldBytes() + bytes > maxBytes) throw new NoRoom('STORAGE_MAX_BYTES is reached');
  };

  const status = (row: UploadRow) => statusOf(row, now());
  const inSeconds = (seconds: number) => now() + seconds * 1000;
  const drop = (id: string, isWanted: (row: UploadRow) => boolean) => {
    const row = rows.get(id);
    if (!row || !isWanted(row)) return false;
    queueDeletion(row);
    outbox.forget(id);
    return rows.delete(id);
  };
  const due = (limit: number, isWanted: (row: UploadRow) => boolean) =>
    [...rows.values()].filter((row) => isWanted(row) && row.dueAt <= now()).slice(0, limit);

  return {
    rows,
    refs,
    heldBytes,
    assertRoom,
    leases,
    outbox,
    async begin(upload, leaseSec) {
      assertRoom(upload.sizeBytes);
      rows.set(upload.id, {
        ...upload,
        state: 'pending',
        downloadCount: 0,
        createdAt: now(),
        expiresAt: inSeconds(upload.expireSec),
        dueAt: inSeconds(leaseSec),
        leasedUntil: inSeconds(leaseSec),
        heldBytes: upload.sizeBytes,
        readers: 0,
        usedAt: [],
        wholeCount: 0,
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
      return availableUpload(row);
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
      outbox.note(id, row, 'used');
      row.usedAt.push(toMinute(now()));
      row.leasedUntil = Math.max(row.leasedUntil, inSeconds(leaseSec));
      row.readers += 1;
      if (row.downloadCount >= row.maxDownloads) row.dueAt = now();
      return row.downloadCount;
    },
    async release(id, isWhole) {
      const row = rows.get(id);
      if (!row) return;
      row.readers = Math.max(row.readers - 1, 0);
      if (!isWhole) return;
      row.wholeCount += 1;
      outbox.note(id, row, 'whole');
    },
    async returnDownload(id) {
      const row = rows.get(id);
      if (row?.state !== 'available' || row.downloadCount === 0) return;
      row.downloadCount -= 1;
      row.usedAt.pop();
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
      const isLeased = (row: UploadRow) => [...leases.values()].some(({ id }) => id === row.id);
      const isRead = (row: UploadRow) => row.readers > 0 && row.leasedUntil > now();
      const found = due(limit, (row) => row.state === 'available' && !isRead(row) && !isLeased(row));
      for (const row of found) {
        const state = row.downloadCount >= row.maxDownloads ? 'limit_reached' : 'expired';
        queueDeletion(row);
        rows.set(row.id, { ...row, state, dueAt: inSeconds(tombstoneTtlSec) });
      }
      const expired = found.filter((row) => row.downloadCount < row.maxDownloads);
      const unused = expired.filter((row) => row.downloadCount === 0);
      return { count: found.length, expired: expired.length, unused: unused.length };
    },
    async endLeases(limit) {
      const ended = [...leases].filter(([, { endsAt }]) => endsAt <= now()).slice(0, limit);
      for (const [name, { id, sentBytes }] of ended) {
        leases.delete(name);
        const row = rows.get(id);
        if (row?.state !== 'available' || sentBytes > 0) continue;
        row.downloadCount -= 1;
        row.usedAt.pop();
        row.dueAt = row.expiresAt;
      }
      return ended.length;
    },
    async reapAbandoned(limit) {
      const found = due(limit, (row) => row.state === 'pending' && row.leasedUntil <= now());
      for (const { id } of found) drop(id, () => true);
      return found.length;
    },
    async endTombstones(limit) {
      const found = due(limit, (row) => row.state === 'expired' || row.state === 'limit_reached');
      for (const { id } of found) drop(id, () => true);
      return found.length;
    },
    async takeDeletions(limit) {
      const taken = [...deletions.keys()].slice(0, limit);
      for (const id of taken) {
        const ref = refs.get(id);
        if (ref) ref.tries += 1;
      }
      return taken;
    },
    async partedDeletions(ids) {
      return ids.flatMap((id) => {
        const ref = refs.get(id);
        return ref && deletions.has(id) ? [{ id, storeRef: ref.storeRef, isRepeated: ref.tries > 1 }] : [];
      });
    },
    async partsDeleted(id) {
      refs.delete(id);
    },
  };
}
