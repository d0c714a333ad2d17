import type { DownloadLeases, LeaseKey } from '../download-leases.ts';
import { availableUpload, toMinute } from './upload-row.ts';
import type { memoryUploads } from './uploads.ts';

/** Leases in a map, of the uploads that are in a map, for unit tests. */
export function memoryDownloadLeases(
  { rows, leases, outbox }: ReturnType<typeof memoryUploads>,
  now: () => number = Date.now,
): DownloadLeases {
  const nameOf = ({ id, tokenHash }: LeaseKey) => `${id} ${tokenHash.toString('hex')}`;
  const inSeconds = (seconds: number) => now() + seconds * 1000;
  const leaseOf = (key: LeaseKey) => (rows.has(key.id) ? leases.get(nameOf(key)) : undefined);

  return {
    async take(key, range, terms) {
      const { idleSec, longestSec, budgetBytes, cuts, ranges, lostBytes, forgivenBytes, isContinued, isRepeated } =
        terms;
      const bytes = range.last + 1 - range.first;
      const known = leaseOf(key);
      if (known) {
        if (known.endsAt <= now()) return 'ended';
        if (known.openRanges >= ranges) return 'busy';
        const within = known.recentRanges.find(
          ({ first, last }) => (isRepeated ? first <= range.first : first < range.first) && range.first <= last,
        );
        const lost = within ? Math.min(within.last + 1 - range.first, lostBytes, known.forgivenLeft) : 0;
        const isOpen = known.openRanges > 0 && known.cutsLeft > 0;
        const isMissing = known.bytesLeft + lost < bytes;
        if (isMissing && !isOpen) return 'ended';
        if (isMissing) known.cutsLeft -= 1;
        known.forgivenLeft -= lost;
        known.bytesLeft += lost;
        known.recentRanges = [range, ...known.recentRanges].slice(0, ranges);
        known.openRanges += 1;
        known.bytesLeft -= bytes;
        known.sentBytes += bytes;
        known.endsAt = Math.min(known.hardEndsAt, inSeconds(idleSec));
        return { endsAt: new Date(known.endsAt) };
      }
      const row = isContinued ? undefined : rows.get(key.id);
      if (row?.state !== 'available' || row.downloadCount >= row.maxDownloads || row.expiresAt <= now()) return 'gone';
      row.downloadCount += 1;
      outbox.note(key.id, row, 'used');
      row.usedAt.push(toMinute(now()));
      if (row.downloadCount >= row.maxDownloads) row.dueAt = now();
      const hardEndsAt = Math.min(inSeconds(longestSec), row.expiresAt + idleSec * 1000);
      const endsAt = Math.min(hardEndsAt, inSeconds(idleSec));
      const lease = {
        id: key.id,
        bytesLeft: budgetBytes - bytes,
        cutsLeft: cuts,
        forgivenLeft: forgivenBytes,
        openRanges: 1,
        recentRanges: [range],
        sentBytes: bytes,
        endsAt,
        hardEndsAt,
      };
      leases.set(nameOf(key), lease);
      return { count: row.downloadCount, endsAt: new Date(endsAt) };
    },
    async find(key) {
      const [lease, row] = [leaseOf(key), rows.get(key.id)];
      if (!row || !lease || lease.endsAt <= now()) return undefined;
      return { authHash: row.authHash, sizeBytes: row.sizeBytes, fileCount: row.fileCount };
    },
    async describe(key) {
      const [lease, row] = [leaseOf(key), rows.get(key.id)];
      return row && lease && lease.endsAt > now() ? availableUpload(row) : undefined;
    },
    async renew(key, seconds) {
      const lease = leaseOf(key);
      if (lease) lease.endsAt = Math.max(lease.endsAt, inSeconds(seconds));
    },
    async settle(key, unsentBytes, idleSec) {
      const lease = leaseOf(key);
      if (!lease) return;
      lease.openRanges = Math.max(lease.openRanges - 1, 0);
      lease.bytesLeft += unsentBytes;
      lease.sentBytes -= unsentBytes;
      lease.endsAt = Math.min(lease.hardEndsAt, inSeconds(idleSec));
    },
    async end(key, isWhole) {
      const [lease, row] = [leaseOf(key), rows.get(key.id)];
      leases.delete(nameOf(key));
      if (!row || !lease) return;
      if (lease.sentBytes > 0) {
        if (!isWhole) return;
        row.wholeCount += 1;
        outbox.note(key.id, row, 'whole');
        return;
      }
      row.downloadCount -= 1;
      row.usedAt.pop();
      row.dueAt = row.expiresAt;
    },
  };
}
