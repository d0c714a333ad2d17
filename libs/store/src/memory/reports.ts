import {
  type Block,
  type Blocks,
  type Desk,
  type DeskSweep,
  type ItemKind,
  MOST_IN_ALL,
  MOST_OF_ITEM,
  type NewReport,
  type OpenReport,
  type Reports,
} from '../reports.ts';
import type { memoryNotes } from './notes.ts';
import { toMinute } from './upload-row.ts';
import type { memoryUploads } from './uploads.ts';

type Row = NewReport & { itemId: string; number: number; at: number };

/** Reports and blocks in maps, of the uploads and notes that are in maps, for unit tests. */
export function memoryReports(
  uploads: ReturnType<typeof memoryUploads>,
  notes: ReturnType<typeof memoryNotes>,
  now: () => number = Date.now,
): Reports & Desk & DeskSweep & { blocks: Blocks } {
  let rows: Row[] = [];
  const blocked = new Map<string, { block: Block; dueAt: number }>();
  const rowOf = (id: string) => uploads.rows.get(id) ?? notes.rows.get(id);
  const kindOf = (id: string): ItemKind | undefined =>
    uploads.rows.has(id) ? 'upload' : notes.rows.has(id) ? 'note' : undefined;
  const toReport = ({ itemId, number, kind, text, authHash, disclosed, at }: Row): OpenReport => {
    const stored = rowOf(itemId)?.authHash;
    const hadToken = stored && authHash ? stored.equals(authHash) : undefined;
    const facts = { itemId, number, kind, text, at: new Date(at), item: kindOf(itemId), hadToken };
    return disclosed ? { ...facts, disclosed } : facts;
  };
  const dismiss = async (id: string) => {
    const before = rows.length;
    rows = rows.filter(({ itemId }) => itemId !== id);
    return before - rows.length;
  };

  return {
    async add(itemId, report) {
      const numbers = rows.filter((row) => row.itemId === itemId).map(({ number }) => number);
      if (rows.length >= MOST_IN_ALL) return;
      let number = 1;
      while (number < MOST_OF_ITEM && numbers.includes(number)) number += 1;
      rows = rows.filter((row) => row.itemId !== itemId || row.number !== number);
      rows.push({ ...report, itemId, number, at: toMinute(now()) });
    },
    open: async (limit) =>
      rows
        .toSorted((a, b) => a.at - b.at)
        .slice(0, limit)
        .map(toReport),
    async find(itemId, number) {
      const found = rows.find((row) => row.itemId === itemId && row.number === number);
      return found && toReport(found);
    },
    async evidence(itemId) {
      const [item, row] = [kindOf(itemId), rowOf(itemId)];
      return item && row && { item, hasPassword: row.password !== undefined, salt: row.salt, authHash: row.authHash };
    },
    dismiss,
    async block(itemId, kind, noticeSec) {
      const item = kindOf(itemId);
      const [upload, note] = [uploads.rows.get(itemId), notes.rows.get(itemId)];
      const row = upload ?? note;
      if (!item || !row) return undefined;
      const block = {
        item,
        kind,
        blockedAt: new Date(now()),
        ownerHash: row.ownerHash,
        createdAt: new Date(row.createdAt),
        expiresAt: new Date(row.expiresAt),
        usedCount: upload?.downloadCount ?? note?.viewCount ?? 0,
        mostUses: upload?.maxDownloads ?? note?.maxViews ?? 0,
        wholeCount: upload?.wholeCount ?? 0,
      };
      blocked.set(itemId, { block, dueAt: now() + noticeSec * 1000 });
      if (upload) await (upload.state === 'pending' ? uploads.abandon(itemId) : uploads.remove(itemId));
      else await notes.remove(itemId);
      await dismiss(itemId);
      return item;
    },
    async unblock(itemId) {
      return (blocked.get(itemId)?.dueAt ?? 0) > now() && blocked.delete(itemId);
    },
    async oldestSec() {
      const times = rows.filter(({ itemId }) => kindOf(itemId)).map(({ at }) => at);
      return times.length > 0 ? (now() - Math.min(...times)) / 1000 : 0;
    },
    async endReports() {
      const before = rows.length;
      rows = rows.filter(({ itemId }) => kindOf(itemId));
      return before - rows.length;
    },
    async endBlocks(limit) {
      const over = [...blocked].filter(([, { dueAt }]) => dueAt <= now()).slice(0, limit);
      for (const [id] of over) blocked.delete(id);
      return over.length;
    },
    blocks: {
      async find(id) {
        const found = blocked.get(id);
        return found && found.dueAt > now() ? found.block : undefined;
      },
    },
  };
}
