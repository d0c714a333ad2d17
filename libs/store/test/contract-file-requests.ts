import { randomBytes, randomUUID } from 'node:crypto';
import { NoRoom } from '@mayfly/shared/errors';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Drop, heldBytes, type NewFileRequest } from '../src/file-requests.ts';
import type { OpenTables, Tables } from './tables.ts';

const DAY_SEC = 86_400;

/** What requests for files promise. */
export function fileRequestsContract(open: OpenTables) {
  describe('requests for files', () => {
    let { requests, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ requests, advance, close } = await open());
      return close;
    });

    function requestOf(changes: Partial<NewFileRequest> = {}): NewFileRequest {
      return {
        id: randomUUID(),
        ownerHash: randomBytes(32),
        publicKey: 'a2V5',
        greeting: { ciphertext: 'aGVsbG8=', nonce: 'bm9uY2Vub25jZQ==' },
        maxDrops: 10,
        maxBytes: 1_000,
        dropExpireSec: DAY_SEC,
        dropMaxDownloads: 1,
        expireSec: 3_600,
        ...changes,
      };
    }
    async function ask(changes: Partial<NewFileRequest> = {}): Promise<NewFileRequest> {
      const request = requestOf(changes);
      await requests.add(request);
      return request;
    }
    const dropOf = (bytes: number): Drop => ({ uploadId: randomUUID(), enc: 'ZW5j', sealed: 'c2VhbGVk', bytes });

    test('a request is found as it was made, with nothing dropped into it', async () => {
      const { expireSec, ...request } = await ask();
      const found = await requests.find(request.id);
      expect(found).toMatchObject({ ...request, status: 'open', dropCount: 0, byteCount: 0, hookCount: 0 });
      const { createdAt, expiresAt } = found ?? {};
      expect(expiresAt?.getTime()).toBe((createdAt?.getTime() ?? 0) + expireSec * 1000);
      expect(await requests.drops(request.id)).toEqual([]);
    });

    test('one without a greeting has none', async () => {
      const { greeting: _, ...request } = await ask();
      const id = randomUUID();
      await requests.add({ ...request, id });
      expect(await requests.find(id)).not.toHaveProperty('greeting');
    });

    test('what nobody asked for is not there', async () => {
      const id = randomUUID();
      expect(await requests.find(id)).toBeUndefined();
      expect(await requests.drop(id, dropOf(1))).toBe('gone');
      expect(await requests.drops(id)).toEqual([]);
      expect(await requests.remove(id)).toBe(false);
    });

    test('drops are counted, and listed in their order, to the minute', async () => {
      const { id } = await ask();
      const drops = [dropOf(100), dropOf(200), dropOf(300)];
      for (const drop of drops) expect(await requests.drop(id, drop)).toBe('dropped');
      expect(await requests.find(id)).toMatchObject({ dropCount: 3, byteCount: 600 });
      const received = await requests.drops(id);
      expect(received).toEqual(drops.map((drop) => ({ ...drop, at: expect.any(Date) })));
      expect(received[0]?.at?.getTime()).toSatisfy((at: number) => at % 60_000 === 0);
    });

    test('of a hundred at once as many are dropped as there is room for', async () => {
      const { id } = await ask({ maxDrops: 10, maxBytes: 100_000 });
      const verdicts = await Promise.all(Array.from({ length: 100 }, () => requests.drop(id, dropOf(7))));
      expect(verdicts.filter((verdict) => verdict === 'dropped')).toHaveLength(10);
      expect(verdicts.filter((verdict) => verdict === 'full')).toHaveLength(90);
      expect(await requests.find(id)).toMatchObject({ dropCount: 10, byteCount: 70 });
      expect(await requests.drops(id)).toHaveLength(10);
    });

    test('of many at once no more bytes are dropped than there is room for', async () => {
      const { id } = await ask({ maxDrops: 100, maxBytes: 1_000 });
      const verdicts = await Promise.all(Array.from({ length: 30 }, () => requests.drop(id, dropOf(300))));
      expect(verdicts.filter((verdict) => verdict === 'dropped')).toHaveLength(3);
      expect(verdicts.filter((verdict) => verdict === 'no-room')).toHaveLength(27);
      expect(await requests.drop(id, dropOf(100))).toBe('dropped');
      expect(await requests.find(id)).toMatchObject({ dropCount: 4, byteCount: 1_000 });
      expect(await requests.drop(id, dropOf(1))).toBe('no-room');
    });

    test('the same upload twenty times at once is one, also when that fills the request', async () => {
      const { id } = await ask({ maxDrops: 1, maxBytes: 100 });
      const drop = dropOf(100);
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, (_, index) => requests.drop(id, { ...drop, sealed: `${index}` })),
      );
      expect(new Set(verdicts)).toEqual(new Set(['dropped']));
      expect(await requests.find(id)).toMatchObject({ dropCount: 1, byteCount: 100 });
      const received = await requests.drops(id);
      expect(received).toHaveLength(1);
      expect(await requests.drop(id, { ...drop, sealed: 'later' })).toBe('dropped');
      expect(await requests.drops(id)).toEqual(received);
      expect(await requests.drop(id, dropOf(1))).toBe('full');
    });

    test('after its end it takes nothing, is there for the last drop’s life, then a tombstone, then nothing', async () => {
      const { id, ownerHash } = await ask({ expireSec: 60, dropExpireSec: 120 });
      const drop = dropOf(1);
      expect(await requests.drop(id, drop)).toBe('dropped');
      await advance(60.1);
      expect(await requests.drop(id, dropOf(1))).toBe('gone');
      expect(await requests.drop(id, drop)).toBe('dropped');
      expect(await requests.retire(100, 60)).toBe(0);
      expect(await requests.find(id)).toMatchObject({ status: 'expired', publicKey: 'a2V5' });
      expect(await requests.drops(id)).toHaveLength(1);
      await advance(120.1);
      expect(await requests.retire(100, 60)).toBeGreaterThanOrEqual(1);
      expect(await requests.find(id)).toMatchObject({ status: 'expired', ownerHash, publicKey: '', dropCount: 1 });
      expect(await requests.find(id)).not.toHaveProperty('greeting');
      expect(await requests.drops(id)).toEqual([]);
      expect(await requests.endTombstones(100)).toBe(0);
      await advance(60.1);
      expect(await requests.endTombstones(100)).toBeGreaterThanOrEqual(1);
      expect(await requests.find(id)).toBeUndefined();
    });

    test('whoever is to be told of drops can be set until it ends, and taken back', async () => {
      const { id } = await ask({ expireSec: 60 });
      const webhook = { host: 'hooks.example', url: 'https://hooks.example/', secret: 'whsec_', key: 'mine' };
      expect(await requests.setHooks(id, { webhook })).toBe(true);
      expect(await requests.find(id)).toMatchObject({ hookCount: 1 });
      await requests.endHooks(id);
      expect(await requests.find(id)).toMatchObject({ hookCount: 0 });
      await advance(60.1);
      expect(await requests.setHooks(id, { webhook })).toBe(false);
      expect(await requests.setHooks(randomUUID(), { webhook })).toBe(false);
    });

    test('of a hundred at once as many are made as fit below the ceiling; what is removed or retired makes room, once', async () => {
      const eachBytes = heldBytes(requestOf());
      await using limited = await open(10 * eachBytes);
      const add = (changes: Partial<NewFileRequest> = {}) => {
        const request = requestOf({ expireSec: 60, dropExpireSec: 0, ...changes });
        const adding = limited.requests.add(request);
        return adding.then(
          () => request.id,
          (error) => {
            if (!(error instanceof NoRoom)) throw error;
            return undefined;
          },
        );
      };
      const made = (await Promise.all(Array.from({ length: 100 }, () => add()))).filter((id) => id !== undefined);
      expect(made).toHaveLength(10);
      // Room for what is dropped was kept.
      expect(await limited.requests.drop(made[0] ?? '', dropOf(1))).toBe('dropped');
      const twice = made.slice(0, 2).flatMap((id) => [limited.requests.remove(id), limited.requests.remove(id)]);
      await Promise.all(twice);
      expect(await add({ maxDrops: 21 })).toBeUndefined(); // larger than what is free
      expect([await add(), await add()].every(Boolean)).toBe(true);
      expect(await add()).toBeUndefined();
      await limited.advance(60.1);
      expect(await add()).toBeUndefined();
      expect(await limited.requests.retire(100, 1)).toBe(10);
      await limited.advance(1.1);
      await limited.requests.endTombstones(100);
      const again = await Promise.all(Array.from({ length: 20 }, () => add()));
      expect(again.filter(Boolean)).toHaveLength(10);
    });

    test('removed while many drop into it, it leaves nothing', async () => {
      const { id } = await ask({ maxDrops: 100 });
      const dropping = Array.from({ length: 50 }, () => requests.drop(id, dropOf(1)));
      const removed = await Promise.all([requests.remove(id), requests.remove(id)]);
      const verdicts = new Set(await Promise.all(dropping));
      expect(removed.sort()).toEqual([false, true]);
      expect([...verdicts].every((verdict) => verdict === 'dropped' || verdict === 'gone')).toBe(true);
      expect(await requests.find(id)).toBeUndefined();
      expect(await requests.drops(id)).toEqual([]);
    });
  });
}
