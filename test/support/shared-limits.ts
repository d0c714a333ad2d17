import { openRedis, type Redis } from '@mayfly/shared/redis';
import { inSuite } from '@mayfly/testing/in-suite';
import type { RunningShape } from '@mayfly/testing/shapes';
import { pino } from 'pino';
import { expect } from 'vitest';
import { call } from './api.ts';

/** A connection to a Redis, for the tests of a suite. */
export function redisOfSuite(url: () => string): () => Redis {
  const open = () => openRedis({ REDIS_URL: url(), REDIS_TIMEOUT_MS: 5_000 }, 'queue', pino({ level: 'silent' }));
  const connection = inSuite(async () => open());
  return () => connection().redis;
}

/** Whether the gateways of a service limit together, through this Redis. */
export function sharedLimits(running: () => RunningShape, redis: () => Redis) {
  /** Requests on all gateways, in turns; resolves with the longest that one took, in milliseconds. */
  async function ask(count: number): Promise<number> {
    let longest = 0;
    for (let index = 0; index < count; index++) {
      const began = performance.now();
      const { baseUrls } = running();
      expect((await call('GET', `${baseUrls[index % baseUrls.length]}/api/config`)).status).toBe(200);
      longest = Math.max(longest, performance.now() - began);
    }
    return longest;
  }

  const logs = () => redis().keys('mayfly:rate:*');
  /** All of them count in one log: under one key, in Redis. */
  async function areCountedTogether(): Promise<boolean> {
    const names = await logs();
    if (names.length > 0) await redis().del(names);
    await ask(10);
    const lengths = await Promise.all((await logs()).map((name) => redis().llen(name)));
    return lengths.length === 1 && lengths[0] === 10;
  }

  async function areWell(): Promise<boolean> {
    const answers = await Promise.all(running().baseUrls.map((url) => call('GET', `${url}/api/health`)));
    return answers.every(({ status }) => status === 200);
  }

  return { ask, areCountedTogether, areWell };
}
