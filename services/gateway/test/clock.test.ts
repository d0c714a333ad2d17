import { inSuite } from '@mayfly/testing/in-suite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { admit, fail } from '../src/limits/redis/scripts.ts';
import { freshConnection } from './start-gateway.ts';

const MAX = 5;
const WINDOW = 1_000;
const LIMITS = {
  max: MAX,
  windowMs: WINDOW,
  quotaBytes: 0,
  failuresMax: 0,
  failuresWindowMs: WINDOW,
  itemFailuresMax: 0,
};
const START = 10_000_000;

type Scripts = {
  admitAt(keys: number, ...args: (string | number)[]): Promise<[number, number, number, number, number]>;
  failAt(keys: number, ...args: (string | number)[]): Promise<unknown>;
};

let keys = 0;
const stack = inSuite(async () => new AsyncDisposableStack());
const redis = inSuite(async () => {
  const redis = await freshConnection(stack());
  redis.defineCommand('admitAt', { lua: admit(LIMITS) });
  redis.defineCommand('failAt', { lua: fail({ ...LIMITS, failuresMax: 20 }) });
  return redis as typeof redis & Scripts; // the commands that were just defined
});

/** One client whose requests come when Redis's clock shows these times. */
function client() {
  const key = `client-${keys++}`;
  return async (now: number) => {
    const [count, waitMs] = await redis().admitAt(2, key, '', 1, '', 0, 0, 0, now);
    return { isAdmitted: count <= MAX, waitMs };
  };
}

describe('when Redis’s clock is set back', () => {
  test.each([
    ['by less than a window', 700],
    ['by a window', WINDOW],
    ['by an hour', 3_600_000],
    ['by a year', 31_536_000_000],
  ])('%s: a client that was full gets its capacity back within two windows', async (_, step) => {
    const at = client();
    for (let i = 0; i < MAX; i++) expect((await at(START)).isAdmitted).toBe(true);
    expect((await at(START)).isAdmitted).toBe(false);
    const set = START - step;
    const later = [];
    for (let i = 0; i < MAX; i++) later.push((await at(set + 2 * WINDOW)).isAdmitted);
    expect(later).toEqual(Array(MAX).fill(true));
  });

  test('whatever the steps: nobody is told to wait longer than a window, and a log never holds more than the limit', async () => {
    const step = fc.oneof(
      fc.integer({ min: 0, max: 400 }),
      fc.integer({ min: -3 * WINDOW, max: 3 * WINDOW }),
      fc.constantFrom(-3_600_000, 3_600_000),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80 }), async (steps) => {
        const at = client();
        let now = START * 1_000;
        for (const each of steps) {
          now += each;
          const { waitMs } = await at(now);
          expect(waitMs).toBeGreaterThanOrEqual(0);
          expect(waitMs).toBeLessThanOrEqual(WINDOW);
        }
        expect(await redis().llen(`client-${keys - 1}`)).toBeLessThanOrEqual(MAX);
        const log = (await redis().lrange(`client-${keys - 1}`, 0, -1)).map(Number);
        expect(log).toEqual([...log].sort((a, b) => a - b));
      }),
      { numRuns: 150 },
    );
  });

  test('by less than a window: it lets no more than the limit through meanwhile', async () => {
    const at = client();
    for (let i = 0; i < 3; i++) await at(START);
    const admitted = [];
    for (let i = 0; i < 6; i++) admitted.push((await at(START - 500 + i * 50)).isAdmitted);
    expect(admitted.filter(Boolean)).toHaveLength(MAX - 3);
  });

  test('wrong tokens stay in the order of time, so that they are forgotten in that order', async () => {
    for (const now of [START, START - 700, START - 300, START + 100])
      await redis().failAt(3, '', 'failures', '', 1, 'owner', 0, 0, now);
    const log = (await redis().lrange('failures', 0, -1)).map(Number);
    expect(log).toHaveLength(4);
    expect(log).toEqual([...log].sort((a, b) => a - b));
  });
});

test('what a window holds in Redis ends with it', async () => {
  const at = client();
  await at(START);
  expect(await redis().pttl(`client-${keys - 1}`)).toBeGreaterThan(0);
  expect(await redis().pttl(`client-${keys - 1}`)).toBeLessThanOrEqual(WINDOW);
});
