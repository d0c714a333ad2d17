import { setTimeout as sleep } from 'node:timers/promises';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshRedis } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { call } from '../support/api.ts';
import { redisOfSuite, sharedLimits } from '../support/shared-limits.ts';

type Command = [string, ...string[]];

describe.each(SHAPES)('what gateways share through Redis (%s)', (shape) => {
  const store = inSuite(() => freshRedis());
  const redis = redisOfSuite(() => store().url);
  const proxy = inSuite(() => openFaultProxy(store().url));
  const running = inSuite(() =>
    startShape(shape, { REDIS_URL: proxy().url, REDIS_TIMEOUT_MS: '500', RATE_LIMIT_MAX: '100000' }),
  );

  const { ask, areCountedTogether, areWell } = sharedLimits(running, redis);

  test('after FLUSHALL all agree on a new key within seconds, and no earlier one comes back', async () => {
    expect(await areCountedTogether()).toBe(true);
    const keys = async () => {
      const names = await redis().keys('mayfly:limiter-key:*');
      for (const name of names) expect(await redis().ttl(name)).toBeGreaterThan(0);
      return names.length > 0 ? redis().mget(names) : [];
    };
    const [before] = await keys();
    expect(before).toBeTruthy();
    await redis().flushall();
    await untilTrue(async () => (await keys()).length > 0);
    expect(await keys()).not.toContain(before);
    await sleep(1_500); // each has looked again
    expect(await areCountedTogether()).toBe(true);
  });

  test.each([
    ['while new ones work', 0],
    ['and nothing answers for a while', 4_000],
  ])('connections that go silent %s: they are replaced, and the limits are shared again', async (_, silentMs) => {
    proxy().silence();
    const longest = await ask(6);
    expect(longest).toBeLessThan(2_500); // REDIS_TIMEOUT_MS, on a busy machine
    await sleep(silentMs);
    if (silentMs > 0) expect(await areWell()).toBe(false);
    proxy().mend();
    await untilTrue(areWell, 15_000);
    await untilTrue(areCountedTogether, 5_000);
  });

  test.each([
    ['is a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
    ['has no memory left for writes', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
  ] satisfies [string, Command, Command][])(
    'health says so when Redis %s, and everything else works',
    async (_, harm, mend) => {
      await untilTrue(areWell);
      await redis().call(harm[0], harm.slice(1));
      for (const url of running().baseUrls) {
        const health = async () => (await call('GET', `${url}/api/health`)).body;
        await untilTrue(async () => (await health()).status === 'degraded');
        expect(await health()).toMatchObject({ components: { redis: 'down', files: 'ok', notes: 'ok' } });
      }
      await ask(4);
      await redis().call(mend[0], mend.slice(1));
      await untilTrue(areWell, 15_000);
      await untilTrue(areCountedTogether, 5_000);
    },
  );
});
