import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { OwnedItem } from '../src/owned-items.ts';
import type { OwnedUnderTest } from './owned-under-test.ts';

const DAY_SEC = 86_400;

/** What owners are promised, of uploads and of notes. */
export function ownedContract(name: string, open: () => Promise<OwnedUnderTest>) {
  describe(`owned items: ${name}`, () => {
    let { owned, create, use, sweep, advance, close } = {} as OwnedUnderTest;
    beforeAll(async () => {
      ({ owned, create, use, sweep, advance, close } = await open());
      return close;
    });

    async function found(id: string): Promise<OwnedItem> {
      const item = await owned.find(id);
      if (!item) throw new Error('it was not found');
      return item;
    }
    const lifetimeSec = ({ createdAt, expiresAt }: OwnedItem) => (expiresAt.getTime() - createdAt.getTime()) / 1_000;

    test('an item is seen with its counts, and when it was used: to the minute', async () => {
      const id = await create(2, 3_600);
      expect(await owned.find(id)).toMatchObject({ status: 'available', usedCount: 0, mostUses: 2, usedAt: [] });
      expect(await use(id)).toBe(true);
      const { usedCount, usedAt } = await found(id);
      expect([usedCount, usedAt.length]).toEqual([1, 1]);
      expect(usedAt[0]?.getTime()).toSatisfy((at: number) => at % 60_000 === 0);
    });

    test('it is still seen when it is used up and swept, with the times of all uses', async () => {
      const id = await create(2, 3_600);
      await Promise.all([use(id), use(id), use(id)]);
      await advance(0.01);
      await sweep();
      expect(await owned.find(id)).toMatchObject({ status: 'limit_reached', usedCount: 2, mostUses: 2 });
      expect((await found(id)).usedAt).toHaveLength(2);
      expect(await owned.setTerms(id, { mostUses: 5 }, DAY_SEC)).toBe('gone');
      expect(await owned.setTerms(id, { expireSec: 60 }, DAY_SEC)).toBe('gone');
    });

    test('what nobody knows cannot be changed', async () => {
      expect(await owned.find(randomUUID())).toBeUndefined();
      expect(await owned.setTerms(randomUUID(), { mostUses: 5 }, DAY_SEC)).toBe('gone');
    });

    test('it lives longer, or shorter, counted from now', async () => {
      const id = await create(2, 3_600);
      expect(await owned.setTerms(id, { expireSec: 7_200 }, DAY_SEC)).toBe('changed');
      expect(Math.round(lifetimeSec(await found(id)))).toBeGreaterThanOrEqual(7_200);
      expect(await owned.setTerms(id, { expireSec: 1 }, DAY_SEC)).toBe('changed');
      expect(await use(id)).toBe(true);
      await advance(1.1);
      expect(await use(id)).toBe(false);
      expect(await found(id)).toMatchObject({ status: 'expired' });
      await sweep(); // comes for the new end
      expect(await found(id)).toMatchObject({ status: 'expired', usedCount: 1 });
    });

    test('at 0 it is over at once', async () => {
      const id = await create(2, 3_600);
      expect(await owned.setTerms(id, { expireSec: 0 }, DAY_SEC)).toBe('changed');
      await advance(0.01);
      expect(await use(id)).toBe(false);
      expect(await found(id)).toMatchObject({ status: 'expired' });
    });

    test('nothing lives longer in all than it may, however often it is prolonged', async () => {
      const id = await create(2, 3_600);
      await advance(1.1);
      for (const expireSec of [7_200, 7_201, 7_200]) {
        expect(await owned.setTerms(id, { expireSec }, 7_200)).toBe('changed');
        expect(lifetimeSec(await found(id))).toBe(7_200);
      }
      expect(await owned.setTerms(id, { mostUses: 5 }, 60)).toBe('changed'); // the end is not what changes
      expect(lifetimeSec(await found(id))).toBe(7_200);
    });

    test('what is refused changes nothing', async () => {
      const id = await create(3, 3_600);
      await Promise.all([use(id), use(id)]);
      const before = await found(id);
      expect(await owned.setTerms(id, { mostUses: 1, expireSec: 60 }, DAY_SEC)).toBe('used');
      expect(await found(id)).toEqual(before);
    });

    test('more uses, or fewer, but never fewer than there were; as many as there were close it', async () => {
      const id = await create(2, 3_600);
      await use(id);
      expect(await owned.setTerms(id, { mostUses: 3 }, DAY_SEC)).toBe('changed');
      expect([await use(id), await found(id)]).toMatchObject([true, { usedCount: 2, mostUses: 3 }]);
      expect(await owned.setTerms(id, { mostUses: 1 }, DAY_SEC)).toBe('used');
      expect(await found(id)).toMatchObject({ status: 'available', mostUses: 3 });
      expect(await owned.setTerms(id, { mostUses: 2 }, DAY_SEC)).toBe('changed');
      expect([await use(id), await found(id)]).toMatchObject([false, { status: 'limit_reached', usedCount: 2 }]);
      await advance(0.01);
      await sweep();
      expect(await found(id)).toMatchObject({ status: 'limit_reached', usedCount: 2, mostUses: 2 });
    });

    test('while 200 use it at once and its owner changes the limit, never more than the limit in force', async () => {
      for (const [before, after] of [
        [5, 20],
        [20, 5],
        [50, 3],
      ] as const) {
        const id = await create(before, 3_600);
        const uses = Array.from({ length: 200 }, () => use(id));
        const verdict = owned.setTerms(id, { mostUses: after }, DAY_SEC);
        const granted = (await Promise.all(uses)).filter(Boolean).length;
        const { usedCount, mostUses, usedAt } = await found(id);
        expect([usedCount, usedAt.length]).toEqual([granted, granted]);
        expect(usedCount).toBe(mostUses);
        if ((await verdict) === 'changed') expect(mostUses).toBe(after);
        else expect([mostUses, granted]).toEqual([before, before]); // they were quicker: it was used up, or more than that
      }
    });
  });
}
