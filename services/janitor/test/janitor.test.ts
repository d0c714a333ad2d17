import { setTimeout as sleep } from 'node:timers/promises';
import { openRedis } from '@mayfly/shared/redis';
import { freshRedis } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type JanitorDeps, startJanitor } from '../src/janitor.ts';

// The schedule on a real Redis; what a sweep and a comparison do has tests of its own.

const stack = new AsyncDisposableStack();
const redis = stack.use(await freshRedis());
afterAll(() => stack.disposeAsync());

/** A janitor whose work is only counted. */
const NOBODY = { count: 0, expired: 0, unused: 0 };

type Given = {
  sweepSec: number;
  reconcileSec?: number;
  onSweep?: () => Promise<void>;
  onComparison?: () => Promise<void>;
};

function countingJanitor(given: Given) {
  const seen = { sweeps: 0, comparisons: 0, logs: [] as string[] };
  const logger = pino({ level: 'info' }, { write: (line: string) => void seen.logs.push(line) });
  const connection = openRedis({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: 1_000 }, 'queue', logger);
  const deps = {
    uploads: {
      async retire() {
        seen.sweeps += 1;
        await given.onSweep?.();
        return NOBODY;
      },
      reapAbandoned: async () => 0,
      endTombstones: async () => 0,
      takeDeletions: async () => [],
      blobsDeleted: async () => {},
      available: async () => [],
    },
    notes: { retire: async () => NOBODY, endTombstones: async () => 0 },
    blobs: {
      assertPaired: async () => {},
      async *list() {
        seen.comparisons += 1;
        await given.onComparison?.();
        yield [];
      },
      endPartials: async () => 0,
    },
    tombstoneTtlSec: 60,
    graceSec: 60,
    redis: connection.redis,
    sweepSec: given.sweepSec,
    reconcileSec: given.reconcileSec ?? 0,
    logger,
  };
  const janitor = startJanitor(deps as unknown as JanitorDeps); // the rest is never called
  return {
    seen,
    async [Symbol.asyncDispose]() {
      await janitor[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
    },
  };
}

async function forgetAll() {
  const connection = openRedis({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: 1_000 }, 'queue', pino({ level: 'silent' }));
  await connection.redis.flushall();
  await connection[Symbol.asyncDispose]();
}

describe('the janitor', () => {
  beforeEach(forgetAll);

  test('three replicas sweep once per interval, not three times', async () => {
    await using one = countingJanitor({ sweepSec: 1 });
    await using two = countingJanitor({ sweepSec: 1 });
    await using three = countingJanitor({ sweepSec: 1 });
    const began = Date.now();
    const sweeps = () => one.seen.sweeps + two.seen.sweeps + three.seen.sweeps;
    await expect.poll(sweeps, { timeout: 30_000 }).toBeGreaterThan(7);
    // A busy machine may do one late and the next one soon after it.
    expect(sweeps()).toBeLessThan((2 * (Date.now() - began)) / 1000 + 2);
  });

  test('a sweep that fails is tried again long before the next one', async () => {
    let failures = 1;
    const onSweep = async () => {
      if (failures-- > 0) throw new Error('connection lost');
    };
    await using janitor = countingJanitor({ sweepSec: 3_600, onSweep });
    await expect.poll(() => janitor.seen.sweeps, { timeout: 20_000 }).toBe(2);
    expect(janitor.seen.logs.join('')).toContain('a job failed');
  });

  test('the comparison runs as often as it is told, and not at all when it is switched off', async () => {
    {
      await using janitor = countingJanitor({ sweepSec: 3_600, reconcileSec: 1 });
      await expect.poll(() => janitor.seen.comparisons, { timeout: 20_000 }).toBeGreaterThan(1);
    }
    await using off = countingJanitor({ sweepSec: 1, reconcileSec: 0 });
    await expect.poll(() => off.seen.sweeps, { timeout: 20_000 }).toBeGreaterThan(2);
    expect(off.seen.comparisons).toBe(0);
  });

  test('closing waits for the sweep that runs', async () => {
    let isDone = false;
    const onSweep = async () => {
      await sleep(1_000);
      isDone = true;
    };
    const janitor = countingJanitor({ sweepSec: 3_600, onSweep });
    await expect.poll(() => janitor.seen.sweeps, { timeout: 20_000 }).toBe(1);
    await janitor[Symbol.asyncDispose]();
    expect(isDone).toBe(true);
  });
});

describe('what was planned by a clock that was a day ahead', () => {
  beforeEach(forgetAll);

  /** From now on; undone by the function that it gives, and after the test. */
  const setAhead = () => {
    const { now } = Date;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 86_400_000);
    onTestFinished(() => clock.mockRestore());
    return () => clock.mockRestore();
  };
  const moves = (...janitors: { seen: { logs: string[] } }[]) =>
    janitors
      .flatMap(({ seen }) => seen.logs.filter((line) => line.includes('planned further ahead')))
      .map((line) => JSON.parse(line).job);

  test('is moved once by replicas that start at once, and no comparison runs beside another', async () => {
    const setRight = setAhead();
    {
      await using ahead = countingJanitor({ sweepSec: 3_600, reconcileSec: 2 });
      await expect.poll(() => ahead.seen.comparisons, { timeout: 20_000 }).toBeGreaterThan(0);
      await expect.poll(() => ahead.seen.sweeps, { timeout: 20_000 }).toBe(1);
    }
    setRight();

    let [running, mostAtOnce] = [0, 0];
    const onComparison = async () => {
      running += 1;
      mostAtOnce = Math.max(mostAtOnce, running);
      await sleep(500);
      running -= 1;
    };
    await using one = countingJanitor({ sweepSec: 3_600, reconcileSec: 2, onComparison });
    await using two = countingJanitor({ sweepSec: 3_600, reconcileSec: 2, onComparison });
    await using three = countingJanitor({ sweepSec: 3_600, reconcileSec: 2, onComparison });
    const comparisons = () => one.seen.comparisons + two.seen.comparisons + three.seen.comparisons;
    await expect.poll(comparisons, { timeout: 20_000 }).toBeGreaterThan(2);
    expect(mostAtOnce).toBe(1);
    expect(moves(one, two, three)).toEqual(['sweep', 'reconcile']);
    expect(one.seen.sweeps + two.seen.sweeps + three.seen.sweeps).toBe(0); // an hour from now
  });

  test('is moved by a replica that runs, within a minute', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    await using janitor = countingJanitor({ sweepSec: 3_600, reconcileSec: 1 });
    await expect.poll(() => janitor.seen.comparisons, { timeout: 20_000 }).toBeGreaterThan(1);
    const setRight = setAhead();
    const before = janitor.seen.comparisons;
    await expect.poll(() => janitor.seen.comparisons, { timeout: 20_000 }).toBeGreaterThan(before + 1);
    setRight();
    await sleep(2_000); // what had begun
    const planned = janitor.seen.comparisons;
    await sleep(3_000);
    expect(janitor.seen.comparisons).toBe(planned);
    vi.advanceTimersByTime(60_000);
    await expect.poll(() => janitor.seen.comparisons, { timeout: 20_000 }).toBeGreaterThan(planned + 2);
    expect(moves(janitor)).toEqual(['sweep', 'reconcile']);
  });
});
