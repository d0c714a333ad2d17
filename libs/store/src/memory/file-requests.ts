import { NoRoom } from '@mayfly/shared/errors';
import {
  type DropVerdict,
  type FileRequestSweep,
  type FileRequests,
  heldBytes,
  type NewFileRequest,
  type ReceivedDrop,
} from '../file-requests.ts';
import type { Hooks } from '../hooks.ts';
import { toMinute } from './upload-row.ts';

type Row = NewFileRequest & {
  hooks: Hooks;
  isRetired: boolean;
  createdAt: number;
  expiresAt: number;
  dueAt: number;
  dropCount: number;
  byteCount: number;
  drops: ReceivedDrop[];
};

/** Requests in a map, for unit tests. `now` gives milliseconds since 1970. */
export function memoryFileRequests(
  now: () => number = Date.now,
  maxBytes = Number.POSITIVE_INFINITY,
): FileRequests & FileRequestSweep {
  const rows = new Map<string, Row>();
  const status = (row: Row) => (!row.isRetired && row.expiresAt > now() ? ('open' as const) : ('expired' as const));
  const due = (limit: number, isRetired: boolean) =>
    [...rows.values()].filter((row) => row.isRetired === isRetired && row.dueAt <= now()).slice(0, limit);

  return {
    async add(request) {
      const open = [...rows.values()].filter(({ isRetired }) => !isRetired);
      const held = [...open, request].reduce((sum, one) => sum + heldBytes(one), 0);
      if (held > maxBytes) throw new NoRoom('REQUESTS_STORAGE_MAX_BYTES is reached');
      const expiresAt = now() + request.expireSec * 1000;
      const dueAt = expiresAt + request.dropExpireSec * 1000;
      rows.set(request.id, {
        ...request,
        hooks: {},
        dropCount: 0,
        byteCount: 0,
        isRetired: false,
        createdAt: now(),
        expiresAt,
        dueAt,
        drops: [],
      });
      return { expiresAt: new Date(expiresAt) };
    },
    async find(id) {
      const row = rows.get(id);
      if (!row) return undefined;
      const { expireSec: _, isRetired: __, dueAt: ___, drops: ____, hooks, createdAt, expiresAt, ...rest } = row;
      const times = { createdAt: new Date(createdAt), expiresAt: new Date(expiresAt) };
      return { ...rest, status: status(row), ...times, hookCount: Object.keys(hooks).length };
    },
    async drop(id, drop): Promise<DropVerdict> {
      const row = rows.get(id);
      if (row?.drops.some(({ uploadId }) => uploadId === drop.uploadId)) return 'dropped';
      if (!row || status(row) !== 'open') return 'gone';
      if (row.dropCount >= row.maxDrops) return 'full';
      if (row.byteCount + drop.bytes > row.maxBytes) return 'no-room';
      row.dropCount += 1;
      row.byteCount += drop.bytes;
      row.drops.push({ ...drop, at: new Date(toMinute(now())) });
      return 'dropped';
    },
    drops: async (id) => rows.get(id)?.drops ?? [],
    async setHooks(id, hooks) {
      const row = rows.get(id);
      if (!row || status(row) !== 'open') return false;
      row.hooks = { ...row.hooks, ...hooks };
      return true;
    },
    async endHooks(id) {
      const row = rows.get(id);
      if (row) row.hooks = {};
    },
    remove: async (id) => rows.delete(id),
    async retire(limit, tombstoneTtlSec) {
      const found = due(limit, false);
      for (const row of found) {
        const { greeting: _, ...kept } = row;
        const dueAt = now() + tombstoneTtlSec * 1000;
        rows.set(row.id, { ...kept, publicKey: '', isRetired: true, dueAt, drops: [] });
      }
      return found.length;
    },
    async endTombstones(limit) {
      const found = due(limit, true);
      for (const { id } of found) rows.delete(id);
      return found.length;
    },
  };
}
