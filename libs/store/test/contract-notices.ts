import { beforeAll, describe, expect, test } from 'vitest';
import type { Hooks } from '../src/hooks.ts';
import { MOST_ATTEMPTS, type Notice, RETRY_AFTER_SEC } from '../src/notices.ts';
import type { OwnedUnderTest } from './owned-under-test.ts';

const push: Required<Hooks>['push'] = {
  host: 'push.example',
  endpoint: 'https://push.example/1',
  p256dh: 'p',
  auth: 'a',
  key: 'k',
};
const webhook: Required<Hooks>['webhook'] = {
  host: 'hooks.example',
  url: 'https://hooks.example/1',
  secret: 'whsec_x',
  key: 'k',
};

/** What owners and the janitor are promised of hooks and notices, of uploads and of notes. */
export function noticesContract(name: string, open: () => Promise<OwnedUnderTest>) {
  describe(`notices: ${name}`, () => {
    let { owned, notices, create, use, sweep, remove, useWhole, hurry, advance, close } = {} as OwnedUnderTest;
    beforeAll(async () => {
      ({ owned, notices, create, use, sweep, remove, useWhole, hurry, advance, close } = await open());
      return close;
    });

    const take = async (limit = 1_000) => (await notices.take({ limit, perHost: 1_000, busyHosts: [] })).taken;
    const hooked = async (hooks: Hooks, uses = 5) => {
      const id = await create(uses, 3_600);
      expect(await owned.setHooks(id, hooks)).toBe(true);
      return id;
    };
    const settleAll = async (taken: Notice[]) => {
      for (const notice of taken) await notices.settle(notice);
      expect(await notices.waiting()).toBe(0);
    };

    test('a use of what has no hook is told to nobody', async () => {
      const id = await create(2, 3_600);
      expect([await use(id), (await owned.find(id))?.hookCount]).toEqual([true, 0]);
      expect([await take(), await notices.waiting()]).toEqual([[], 0]);
    });

    test('each use is noted once for each hook, and not again once it is settled', async () => {
      const id = await hooked({ push });
      await owned.setHooks(id, { webhook });
      expect((await owned.find(id))?.hookCount).toBe(2);
      await use(id);
      const taken = await take();
      expect(
        taken.map(({ kind, event, hook }) => ({ kind, event, hook })).sort((a, b) => (a.kind < b.kind ? -1 : 1)),
      ).toEqual([
        { kind: 'push', event: 'used', hook: push },
        { kind: 'webhook', event: 'used', hook: webhook },
      ]);
      for (const { at } of taken) expect(at?.getTime()).toSatisfy((time: number) => time % 60_000 === 0);
      expect(await take()).toEqual([]); // taken
      await settleAll(taken);
      await hurry();
      expect(await take()).toEqual([]);
    });

    test('a webhook hears of what arrived whole, besides; a browser does not', async () => {
      if (!useWhole) return;
      const id = await hooked({ push, webhook });
      await useWhole(id);
      const taken = await take();
      expect(taken.map(({ kind, event }) => `${kind} ${event}`).sort()).toEqual([
        'push used',
        'webhook used',
        'webhook whole',
      ]);
      await settleAll(taken);
    });

    test('what is not settled comes again, under the same id, and is dropped after its last attempt', async () => {
      const id = await hooked({ webhook });
      await use(id);
      const ids = new Set<string>();
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const [notice, ...more] = await take();
        expect([notice?.kind, more]).toEqual(['webhook', []]);
        ids.add(notice?.id ?? '');
        expect(await take()).toEqual([]); // not before its time
        await hurry();
      }
      expect(ids.size).toBe(1);
      expect(await notices.take({ limit: 10, perHost: 10, busyHosts: [] })).toEqual({ taken: [], dropped: 1 });
      expect(await notices.waiting()).toBe(0);
      expect(RETRY_AFTER_SEC).toHaveLength(MOST_ATTEMPTS);
    });

    test('a hook that takes the place of another hears of what was still to be told', async () => {
      const id = await hooked({ webhook });
      await use(id);
      const other = { ...webhook, url: 'https://hooks.example/2' };
      await owned.setHooks(id, { webhook: other });
      expect((await owned.find(id))?.hookCount).toBe(1);
      const taken = await take();
      expect(taken.map(({ hook }) => hook)).toEqual([other]);
      await settleAll(taken);
    });

    test('what waits for a host that is busy keeps nobody else', async () => {
      await use(await hooked({ webhook }));
      await use(await hooked({ push }));
      const { taken } = await notices.take({ limit: 1, perHost: 1, busyHosts: [webhook.host] });
      expect(taken.map(({ kind }) => kind)).toEqual(['push']);
      await settleAll([...taken, ...(await take())]);
    });

    test('one host gets so many at a time, and others the rest', async () => {
      const id = await hooked({ webhook });
      for (let i = 0; i < 4; i++) await use(id);
      await use(await hooked({ push }));
      const { taken } = await notices.take({ limit: 10, perHost: 2, busyHosts: [] });
      expect(taken.map(({ kind }) => kind).sort()).toEqual(['push', 'webhook', 'webhook']);
      await settleAll([...taken, ...(await take())]);
    });

    test('a receiver that wants no more ends its hook and what waits for it, but not one that has taken its place', async () => {
      const id = await hooked({ push, webhook });
      await use(id);
      await use(id);
      const taken = await take();
      const [first, second] = taken.filter(({ kind }) => kind === 'webhook');
      const other = { ...webhook, url: 'https://hooks.example/2' };
      await owned.setHooks(id, { webhook: other });
      await notices.endHook(first as Notice);
      expect([(await owned.find(id))?.hookCount, await notices.waiting()]).toEqual([2, 4]);
      await notices.endHook({ ...second, kind: 'webhook', hook: other } as Notice);
      expect([(await owned.find(id))?.hookCount, await notices.waiting()]).toEqual([1, 2]);
      await settleAll(taken.filter(({ kind }) => kind === 'push'));
    });

    test('its owner ends all hooks, and what was still to be told', async () => {
      const id = await hooked({ push, webhook });
      await use(id);
      await owned.endHooks(id);
      expect([(await owned.find(id))?.hookCount, await notices.waiting()]).toEqual([0, 0]);
      await use(id);
      expect(await notices.waiting()).toBe(0);
    });

    test('the last use is told when the item is swept already, and the delete of the item ends it', async () => {
      const [told, deleted] = [await hooked({ webhook }, 1), await hooked({ webhook }, 1)];
      await use(told);
      await use(deleted);
      expect(await owned.setHooks(told, { push })).toBe(false);
      await advance(0.01);
      await sweep();
      expect((await owned.find(told))?.status).toBe('limit_reached');
      await remove(deleted);
      const taken = await take();
      expect(taken.map(({ hook }) => hook)).toEqual([webhook]);
      await settleAll(taken);
    });

    test('of 40 uses at once, up to the limit, each that was granted is noted; many takers share them', async () => {
      const id = await hooked({ webhook }, 25);
      const granted = (await Promise.all(Array.from({ length: 40 }, () => use(id)))).filter(Boolean).length;
      const taken = (await Promise.all(Array.from({ length: 8 }, () => take(5)))).flat();
      taken.push(...(await take()));
      expect([granted, taken.length, new Set(taken.map(({ id: notice }) => notice)).size]).toEqual([25, 25, 25]);
      await settleAll(taken);
    });
  });
}
