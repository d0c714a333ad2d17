import { NoRoom } from '@mayfly/shared/errors';
import type { Hooks } from '../hooks.ts';
import { type AvailableNote, type NewNote, type Notes, type Repeat, SMALL_LENGTH, type View } from '../notes.ts';
import type { NoteSweep } from '../sweep.ts';
import type { GoneReason } from '../uploads.ts';
import { memoryOutbox } from './notices.ts';
import { toMinute } from './upload-row.ts';

type Row = NewNote & {
  state: 'available' | GoneReason;
  viewCount: number;
  createdAt: number;
  expiresAt: number;
  dueAt: number;
  /** By the hash of its key. */
  recentViews: Map<string, { viewCount: number; until: number }>;
  heldBytes: number;
  usedAt: number[];
  hooks?: Hooks | undefined;
};

/** Notes in a map, for unit tests. `now` gives milliseconds since 1970. */
export function memoryNotes(
  now: () => number = Date.now,
  { maxBytes = Number.POSITIVE_INFINITY }: { maxBytes?: number } = {},
): Notes &
  NoteSweep & {
    rows: Map<string, Row>;
    status: (row: Row) => Row['state'];
    outbox: ReturnType<typeof memoryOutbox>;
  } {
  const rows = new Map<string, Row>();
  const outbox = memoryOutbox(now);

  const status = (row: Row): Row['state'] => {
    if (row.state !== 'available') return row.state;
    if (row.viewCount >= row.maxViews) return 'limit_reached';
    return row.expiresAt <= now() ? 'expired' : 'available';
  };
  const isRepeatable = ({ recentViews }: Row) => [...recentViews.values()].some(({ until }) => until > now());
  const due = (limit: number, isWanted: (row: Row) => boolean) =>
    [...rows.values()].filter((row) => isWanted(row) && row.dueAt <= now()).slice(0, limit);

  async function claimView(id: string, repeat?: Repeat): Promise<View | undefined> {
    const row = rows.get(id);
    if (!row) return undefined;
    const { encryptedContent, nonce, maxViews } = row;
    const key = repeat?.keyHash.toString('base64') ?? '';
    const known = row.recentViews.get(key);
    if (known && known.until > now() && row.state === 'available') {
      return { encryptedContent, nonce, viewCount: known.viewCount, maxViews, isRepeat: true };
    }
    if (status(row) !== 'available') return undefined;
    row.viewCount += 1;
    outbox.note(id, row, 'used');
    row.usedAt.push(toMinute(now()));
    const { viewCount } = row;
    const until = Math.min(now() + (repeat?.forSec ?? 0) * 1000, row.expiresAt);
    if (repeat) row.recentViews.set(key, { viewCount, until });
    if (viewCount >= maxViews) {
      row.dueAt = Math.max(now(), ...[...row.recentViews.values()].map((recent) => recent.until));
      if (!isRepeatable(row)) Object.assign(row, { encryptedContent: '', nonce: '' });
    }
    return { encryptedContent, nonce, viewCount, maxViews, ...(repeat ? { isRepeat: false } : {}) };
  }

  return {
    rows,
    status,
    outbox,
    claimView,
    async claimSmallView(id, authHash, repeat) {
      const row = rows.get(id);
      const isAsked = row?.authHash.equals(authHash) && row.encryptedContent.length <= SMALL_LENGTH;
      return isAsked ? claimView(id, repeat) : undefined;
    },
    async add(note) {
      const heldBytes = note.encryptedContent.length;
      const before = [...rows.values()].reduce((sum, row) => sum + row.heldBytes, 0);
      if (before + heldBytes > maxBytes) throw new NoRoom('NOTES_MAX_BYTES is reached');
      const expiresAt = now() + note.expireSec * 1000;
      const times = { createdAt: now(), expiresAt, dueAt: expiresAt };
      const counts = { viewCount: 0, recentViews: new Map(), heldBytes, usedAt: [] };
      rows.set(note.id, { ...note, ...times, ...counts, state: 'available' });
      return { expiresAt: new Date(expiresAt) };
    },
    async find(id) {
      const row = rows.get(id);
      if (!row) return undefined;
      const is = status(row);
      if (is !== 'available') {
        const gone = { id, status: is, ownerHash: row.ownerHash, hasPassword: row.password !== undefined };
        return is === 'limit_reached' && isRepeatable(row)
          ? { ...gone, authHash: row.authHash, contentLength: row.encryptedContent.length }
          : gone;
      }
      const {
        encryptedContent,
        nonce: __,
        expireSec: ___,
        state: ____,
        dueAt: _____,
        recentViews: ______,
        heldBytes: _______,
        usedAt: ________,
        hooks: _________,
        ...rest
      } = row;
      const times = { createdAt: new Date(row.createdAt), expiresAt: new Date(row.expiresAt) };
      return { ...rest, ...times, contentLength: encryptedContent.length, status: is } satisfies AvailableNote;
    },
    async remove(id) {
      outbox.forget(id);
      return rows.delete(id);
    },
    async check() {},
    async retire(limit, tombstoneTtlSec) {
      const found = due(limit, (row) => row.state === 'available');
      for (const row of found) {
        row.state = row.viewCount >= row.maxViews ? 'limit_reached' : 'expired';
        row.recentViews.clear();
        row.dueAt = now() + tombstoneTtlSec * 1000;
        row.heldBytes = 0;
      }
      const expired = found.filter((row) => row.viewCount < row.maxViews);
      const unused = expired.filter((row) => row.viewCount === 0);
      return { count: found.length, expired: expired.length, unused: unused.length };
    },
    async endTombstones(limit) {
      const found = due(limit, (row) => row.state !== 'available');
      for (const { id } of found) {
        outbox.forget(id);
        rows.delete(id);
      }
      return found.length;
    },
  };
}
