import { type ErrorCode, MayflyError, type OwnStatus } from '@mayfly/client';
import { expect, test, vi } from 'vitest';
import { deleteItem } from '../src/my-uploads/delete-item.ts';
import type { SentItem } from '../src/my-uploads/sent-item.ts';
import { memorySentList } from '../src/my-uploads/sent-list.ts';
import { askAgainAfterMs, readStatus, readStatuses } from '../src/my-uploads/status.ts';
import { sentNote, sentUpload, service } from './sent-items.ts';

const future = new Date(Date.now() + 3_600_000).toISOString();
const failing = (code: ErrorCode) => ({ getUsage: () => Promise.reject(new MayflyError(code)) });

test('an item that is there says how often it was used', async () => {
  const usage = { usedCount: 1, maxUses: 3, expiresAt: future };
  const client = { getUsage: vi.fn(async () => usage) };
  expect(await readStatus(client, service, sentNote(1), {})).toEqual({ state: 'available', ...usage });
});

test.each([
  ['expired', { state: 'expired' }],
  ['used-up', { state: 'used-up' }],
  ['not-found', { state: 'gone' }],
  ['network', { state: 'unknown', code: 'network' }],
  ['rate-limited', { state: 'unknown', code: 'rate-limited' }],
] as const)('an answer of %s is a state', async (code, status) => {
  expect(await readStatus(failing(code), service, sentUpload(1, { expiresAt: future }), {})).toEqual(status);
});

test('what the service has forgotten since it ended is expired', async () => {
  expect(await readStatus(failing('not-found'), service, sentUpload(1), {})).toEqual({ state: 'expired' });
});

test('an owner is told when it was used, also when it is over', async () => {
  const uses = { usedAt: ['2026-01-02T03:04:00.000Z'], wholeCount: 1 };
  const counts = { usedCount: 1, maxUses: 3 };
  const answer = { state: 'available', createdAt: future, expiresAt: future, ...counts, ...uses } as const;
  const client = { ...failing('expired'), getOwnStatus: vi.fn(async (): Promise<OwnStatus> => answer) };
  const item = sentUpload(1);
  expect(await readStatus(client, service, item, { isOwner: true })).toEqual({
    state: 'available',
    expiresAt: future,
    ...counts,
    uses,
  });
  expect(client.getOwnStatus).toHaveBeenCalledWith(item, { ownerSecret: item.ownerSecret });
  client.getOwnStatus.mockResolvedValue({ ...answer, state: 'expired' });
  expect(await readStatus(client, service, item, { isOwner: true })).toEqual({ state: 'expired', ...counts, uses });
  expect(await readStatus(client, service, item, { isOwner: false })).toEqual({ state: 'expired' });
});

test('a request that is not there any more was deleted, or blocked', async () => {
  const { files: _, ...upload } = sentUpload(1, { expiresAt: future });
  const request: SentItem = { ...upload, kind: 'request', link: upload.link.replace('/d/', '/r/'), title: 'Papers' };
  const listDrops = () => Promise.reject(new MayflyError('not-found'));
  const client = failing('not-found');
  const isBlocked = vi.fn(async () => true);
  expect(await readStatus(client, service, request, { listDrops, isBlocked })).toEqual({ state: 'blocked' });
  expect(isBlocked).toHaveBeenCalledWith(request.id);
  isBlocked.mockResolvedValue(false);
  expect(await readStatus(client, service, request, { listDrops, isBlocked })).toEqual({ state: 'gone' });
  isBlocked.mockRejectedValue(new MayflyError('network'));
  expect(await readStatus(client, service, request, { listDrops, isBlocked })).toEqual({ state: 'gone' });
  // An upload's owner is told by the service.
  isBlocked.mockClear();
  expect(await readStatus(client, service, sentUpload(1, { expiresAt: future }), { isBlocked })).toEqual({
    state: 'gone',
  });
  expect(isBlocked).not.toHaveBeenCalled();
});

test('another service is not asked', async () => {
  const client = { getUsage: vi.fn() };
  const item = sentUpload(1, { service: 'https://other.example' });
  expect(await readStatus(client, service, item, {})).toEqual({ state: 'elsewhere' });
  expect(client.getUsage).not.toHaveBeenCalled();
});

test('all items are asked for, a few at a time', async () => {
  const items = Array.from({ length: 20 }, (_, number) => sentUpload(number));
  let [running, most] = [0, 0];
  const seen: string[] = [];
  const read = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return { state: 'gone' } as const;
  };
  await readStatuses(items, read, ({ id }) => seen.push(id), { atOnce: 3 });
  expect(seen.toSorted()).toEqual(items.map(({ id }) => id).toSorted());
  expect(most).toBe(3);
});

test('the service is asked again after a while, or when the next item ends', () => {
  const now = Date.now();
  const ending = (inMs: number) =>
    ({ state: 'available', usedCount: 0, maxUses: 1, expiresAt: new Date(now + inMs).toISOString() }) as const;
  expect(askAgainAfterMs([], now)).toBe(30_000);
  expect(askAgainAfterMs([{ state: 'gone' }, ending(3_600_000)], now)).toBe(30_000);
  expect(askAgainAfterMs([ending(3_600_000), ending(5_000)], now)).toBe(6_000);
  expect(askAgainAfterMs([ending(-60_000)], now)).toBe(1_000);
});

test('an aborted signal ends the asking', async () => {
  const controller = new AbortController();
  const read = vi.fn(async () => {
    controller.abort();
    return { state: 'gone' } as const;
  });
  const onStatus = vi.fn();
  await readStatuses([sentUpload(1), sentUpload(2)], read, onStatus, { signal: controller.signal, atOnce: 1 });
  expect(read).toHaveBeenCalledTimes(1);
  expect(onStatus).not.toHaveBeenCalled();
});

test('a deleted item is forgotten', async () => {
  const list = memorySentList();
  await list.put(sentUpload(1));
  const remove = vi.fn(async (_: SentItem) => {});
  await deleteItem(remove, service, list, sentUpload(1));
  expect(remove.mock.calls).toEqual([[sentUpload(1)]]);
  expect(await list.all()).toEqual([]);
});

test('an item that the service does not have is forgotten, one that it did not delete stays', async () => {
  const list = memorySentList();
  await list.put(sentUpload(1));
  const refuse = (code: ErrorCode) => () => Promise.reject(new MayflyError(code));
  for (const code of ['network', 'wrong-token'] as const) {
    await expect(deleteItem(refuse(code), service, list, sentUpload(1))).rejects.toMatchObject({ code });
  }
  expect(await list.all()).toHaveLength(1);
  await deleteItem(refuse('not-found'), service, list, sentUpload(1));
  expect(await list.all()).toEqual([]);
});

test('an item of another service is neither deleted nor forgotten here', async () => {
  const list = memorySentList();
  const item = sentUpload(1, { service: 'https://other.example' });
  await list.put(item);
  const remove = vi.fn();
  await expect(deleteItem(remove, service, list, item)).rejects.toMatchObject({ code: 'invalid-request' });
  expect(remove).not.toHaveBeenCalled();
  expect(await list.all()).toEqual([item]);
});
