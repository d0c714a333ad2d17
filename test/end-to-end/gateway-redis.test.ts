import { setTimeout as sleep } from 'node:timers/promises';
import { buildLogger } from '@mayfly/shared/logger';
import { openRedis, type Redis } from '@mayfly/shared/redis';
import { type FaultProxy, openFaultProxy } from '@mayfly/testing/fault-proxy';
import { type RunningShape, SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshRedis } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/api.ts';

describe.each(SHAPES)('what gateways share through Redis (%s)', (shape) => {
  const stack = new AsyncDisposableStack();
  let proxy: FaultProxy;
  let redis: Redis;
  let running: RunningShape;
  beforeAll(async () => {
    const store = stack.use(await freshRedis());
    const logger = buildLogger({ LOG_LEVEL: 'silent' }, 'test');
    redis = stack.use(openRedis({ REDIS_URL: store.url, REDIS_TIMEOUT_MS: 5_000 }, 'queue', logger)).redis;
    proxy = stack.use(await openFaultProxy(store.url));
    const settings = { REDIS_URL: proxy.url, REDIS_TIMEOUT_MS: '500', RATE_LIMIT_MAX: '100000' };
    running = stack.use(await startShape(shape, settings));
  });
  afterAll(() => stack.disposeAsync());

  /** Requests on all gateways, in turns; resolves with the longest that one took, in milliseconds. */
  async function ask(count: number): Promise<number> {
    let longest = 0;
    for (let index = 0; index < count; index++) {
      const began = performance.now();
      const baseUrl = running.baseUrls[index % running.baseUrls.length];
      expect((await call('GET', `${baseUrl}/api/config`)).status).toBe(200);
      longest = Math.max(longest, performance.now() - began);
    }
    return longest;
  }

  const logs = () => redis.keys('mayfly:rate:*');
  /** All of them count in one log: under one key, in Redis. */
  async function areCountedTogether() {
    const names = await logs();
    if (names.length > 0) await redis.del(names);
    await ask(10);
    const lengths = await Promise.all((await logs()).map((name) => redis.llen(name)));
    return lengths.length === 1 && lengths[0] === 10;
  }

  const areWell = async () => {
    const answers = await Promise.all(running.baseUrls.map((url) => call('GET', `${url}/api/health`)));
    return answers.every(({ status }) => status === 200);
  };

  test('after FLUSHALL all agree on a new key within seconds, and no earlier one comes back', async () => {
    expect(await areCountedTogether()).toBe(true);
    const keys = async () => {
      const names = await redis.keys('mayfly:limiter-key:*');
      for (const name of names) expect(await redis.ttl(name)).toBeGreaterThan(0);
      return names.length > 0 ? redis.mget(names) : [];
    };
    const [before] = await keys();
    expect(before).toBeTruthy();
    await redis.flushall();
    await untilTrue(async () => (await keys()).length > 0);
    expect(await keys()).not.toContain(before);
    await sleep(1_500); // each has looked again
    expect(await areCountedTogether()).toBe(true);
  });

  test.each([
    ['while new ones work', 0],
    ['and nothing answers for a while', 4_000],
  ])('connections that go silent %s: they are replaced, and the limits are shared again', async (_, silentMs) => {
    proxy.silence();
    const longest = await ask(6);
    expect(longest).toBeLessThan(2_500); // REDIS_TIMEOUT_MS, on a busy machine
    await sleep(silentMs);
    if (silentMs > 0) expect(await areWell()).toBe(false);
    proxy.mend();
    await untilTrue(areWell, 15_000);
    await untilTrue(areCountedTogether, 5_000);
  });
});
