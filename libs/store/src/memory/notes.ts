import type { AvailableNote, NewNote, Notes } from '../notes.ts';
import type { NoteSweep } from '../sweep.ts';
import type { GoneReason } from '../uploads.ts';

type Row = NewNote & {
  state: 'available' | GoneReason;
  viewCount: number;
  createdAt: number;
  expiresAt: number;
  dueAt: number;
};

/** Notes in a map, for unit tests. `now` gives milliseconds since 1970. */
export function memoryNotes(now: () => number = Date.now): Notes & NoteSweep {
  const rows = new Map<string, Row>();

  const status = (row: Row) => {
    if (row.state !== 'available') return row.state;
    if (row.viewCount >= row.maxViews) return 'limit_reached';
    return row.expiresAt <= now() ? 'expired' : 'available';
  };
  const due = (limit: number, isWanted: (row: Row) => boolean) =>
    [...rows.values()].filter((row) => isWanted(row) && row.dueAt <= now()).slice(0, limit);

  return {
    async add(note) {
      const expiresAt = now() + note.expireSec * 1000;
      rows.set(note.id, { ...note, state: 'available', viewCount: 0, createdAt: now(), expiresAt, dueAt: expiresAt });
      return { expiresAt: new Date(expiresAt) };
    },
    async find(id) {
      const row = rows.get(id);
      if (!row) return undefined;
      const is = status(row);
      if (is !== 'available') {
        return { id, status: is, ownerHash: row.ownerHash, hasPassword: row.password !== undefined };
      }
      const { encryptedContent: _, nonce: __, expireSec: ___, state: ____, dueAt: _____, ...rest } = row;
      const times = { createdAt: new Date(row.createdAt), expiresAt: new Date(row.expiresAt) };
      return { ...rest, ...times, status: is } satisfies AvailableNote;
    },
    async claimView(id) {
      const row = rows.get(id);
      if (!row || status(row) !== 'available') return undefined;
      row.viewCount += 1;
      const { encryptedContent, nonce, viewCount, maxViews } = row;
      if (viewCount >= maxViews) Object.assign(row, { encryptedContent: '', nonce: '', dueAt: now() });
      return { encryptedContent, nonce, viewCount, maxViews };
    },
    async remove(id) {
      return rows.delete(id);
    },
    async check() {},
    async retire(limit, tombstoneTtlSec) {
      const found = due(limit, (row) => row.state === 'available');
      for (const row of found) {
        row.state = row.viewCount >= row.maxViews ? 'limit_reached' : 'expired';
        row.dueAt = now() + tombstoneTtlSec * 1000;
      }
      const expired = found.filter((row) => row.viewCount < row.maxViews);
      const unused = expired.filter((row) => row.viewCount === 0);
      return { count: found.length, expired: expired.length, unused: unused.length };
    },
    async endTombstones(limit) {
      const found = due(limit, (row) => row.state !== 'available');
      for (const { id } of found) rows.delete(id);
      return found.length;
    },
  };
}
