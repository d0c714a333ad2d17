import type { Hooks } from '../hooks.ts';
import type { OwnedItem, OwnedItems } from '../owned-items.ts';
import type { memoryNotes } from './notes.ts';
import { statusOf } from './upload-row.ts';
import type { memoryUploads } from './uploads.ts';

/** What the maps of uploads and notes know alike; `setTerms` is written back to them. */
type MemoryItem = {
  status: OwnedItem['status'];
  ownerHash: Buffer;
  createdAt: number;
  expiresAt: number;
  usedCount: number;
  mostUses: number;
  usedAt: number[];
  wholeCount: number;
  hasMeta: boolean;
  hookCount: number;
};
type Kept = { mostUses: number; expiresAt: number; dueAt: number };

/** The owners' view of a map. */
function ownedItems(
  find: (id: string) => MemoryItem | undefined,
  keep: (id: string, kept: Kept) => void,
  {
    rows,
    outbox,
  }: Pick<ReturnType<typeof memoryUploads | typeof memoryNotes>, 'outbox'> & {
    rows: Map<string, { hooks?: Hooks | undefined }>;
  },
  now: () => number,
): OwnedItems {
  return {
    async find(id) {
      const item = find(id);
      if (!item) return undefined;
      const times = { createdAt: new Date(item.createdAt), expiresAt: new Date(item.expiresAt) };
      return { ...item, ...times, usedAt: item.usedAt.map((at) => new Date(at)) };
    },

    async setTerms(id, { expireSec, mostUses }, longestSec) {
      const item = find(id);
      if (item?.status !== 'available') return 'gone';
      const most = mostUses ?? item.mostUses;
      if (most < item.usedCount) return 'used';
      const latest = item.createdAt + longestSec * 1000;
      const endsAt = expireSec === undefined ? item.expiresAt : Math.min(now() + expireSec * 1000, latest);
      keep(id, { mostUses: most, expiresAt: endsAt, dueAt: item.usedCount >= most ? now() : endsAt });
      return 'changed';
    },

    async setHooks(id, hooks) {
      const row = rows.get(id);
      if (!row || find(id)?.status !== 'available') return false;
      row.hooks = { ...row.hooks, ...hooks };
      return true;
    },

    async endHooks(id) {
      const row = rows.get(id);
      if (row) row.hooks = undefined;
      outbox.forget(id);
    },
  };
}

const hooksOf = ({ hooks }: { hooks?: Hooks | undefined }) => ({ hookCount: Object.keys(hooks ?? {}).length });

/** Uploads in a map as their owners see them, for unit tests. */
export function memoryOwnedUploads(
  uploads: ReturnType<typeof memoryUploads>,
  now: () => number = Date.now,
): OwnedItems {
  const { rows } = uploads;
  const find = (id: string) => {
    const row = rows.get(id);
    const status = row && statusOf(row, now());
    if (!row || status === undefined || status === 'pending') return undefined;
    const { ownerHash, createdAt, expiresAt, usedAt, wholeCount } = row;
    const uses = { usedCount: row.downloadCount, mostUses: row.maxDownloads, usedAt, wholeCount };
    return { status, ownerHash, createdAt, expiresAt, ...uses, hasMeta: row.meta !== undefined, ...hooksOf(row) };
  };
  const keep = (id: string, { mostUses, ...times }: Kept) =>
    void Object.assign(rows.get(id) ?? {}, { maxDownloads: mostUses, ...times });
  return ownedItems(find, keep, uploads, now);
}

/** The same for notes. */
export function memoryOwnedNotes(notes: ReturnType<typeof memoryNotes>, now: () => number = Date.now): OwnedItems {
  const { rows, status } = notes;
  const find = (id: string) => {
    const row = rows.get(id);
    if (!row) return undefined;
    const { ownerHash, createdAt, expiresAt, usedAt } = row;
    const uses = { usedCount: row.viewCount, mostUses: row.maxViews, usedAt, wholeCount: 0 };
    return { status: status(row), ownerHash, createdAt, expiresAt, ...uses, hasMeta: false, ...hooksOf(row) };
  };
  const keep = (id: string, { mostUses, ...times }: Kept) =>
    void Object.assign(rows.get(id) ?? {}, { maxViews: mostUses, ...times });
  return ownedItems(find, keep, notes, now);
}
