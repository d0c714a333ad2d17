import { setTimeout as sleep } from 'node:timers/promises';
import { openRedis } from '@mayfly/shared/redis';
import { freshRedis } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type JanitorDeps, startJanitor } from '../src/janitor.ts';

// Sweeps go on whatever becomes of Redis and of the time of day. A janitor's work is only counted here.

const NOBODY = { count: 0, expired: 0, unused: 0 };

function countingJanitor(redisUrl: string) {
  const seen = { sweeps: 0 };
  const logger = pino({ level: 'silent' });
  const connection = openRedis({ REDIS_URL: redisUrl, REDIS_TIMEOUT_MS: 1_000 }, 'queue', logger);
  const deps = {
    uploads: {
      async retire() {
        seen.sweeps += 1;
        return NOBODY;
      },
      reapAbandoned: async () => 0,
      endTombstones: async () => 0,
      takeDeletions: async () => [],
      blobsDeleted: async () => {},
    },
    notes: { retire: async () => NOBODY, endTombstones: async () => 0 },
    blobs: {},
    tombstoneTtlSec: 60,
    graceSec: 60,
    redis: connection.redis,
    sweepSec: 1,
    reconcileSec: 0,
    logger,
  };
  const janitor = startJanitor(deps as unknown as JanitorDeps); // the rest is never called
  return {
    seen,
    redis: connection.redis,
    async [Symbol.asyncDispose]() {
      await janitor[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
    },
  };
}

describe('sweeps go on, once per interval, when Redis', () => {
  let redis: Awaited<ReturnType<typeof freshRedis>>;
  let janitor: ReturnType<typeof countingJanitor>;
  beforeEach(async () => {
    redis = await freshRedis();
    janitor = countingJanitor(redis.url);
    await expect.poll(() => janitor.seen.sweeps, { timeout: 20_000 }).toBeGreaterThan(1);
    return async () => {
      await janitor[Symbol.asyncDispose]();
      await redis.stop();
    };
  });

  const goesOn = async () => {
    await sleep(2_000); // what was due before
    const [before, began] = [janitor.seen.sweeps, Date.now()];
    await expect.poll(() => janitor.seen.sweeps, { timeout: 20_000 }).toBeGreaterThan(before + 2);
    expect(janitor.seen.sweeps - before).toBeLessThanOrEqual((Date.now() - began) / 1_000 + 2);
  };

  test('is silent', async () => {
    redis.pause();
    try {
      await goesOn();
    } finally {
      redis.resume();
    }
  });

  test('has no memory left for writes', async () => {
    await janitor.redis.call('CONFIG', 'SET', 'maxmemory', '1');
    await goesOn();
  });

  test('is read-only', async () => {
    await janitor.redis.call('REPLICAOF', '127.0.0.1', '1');
    await goesOn();
  });

  test('has a schedule from a clock that was a day ahead', async () => {
    const { now } = Date;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 86_400_000);
    await sleep(3_000);
    clock.mockRestore();
    await goesOn();
  });

  test('has gone', async () => {
    await redis.stop();
    await goesOn();
  });
});
