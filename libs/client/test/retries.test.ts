import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { MayflyError } from '../src/errors.ts';
import { Parallelism, storeParts } from '../src/part-queue.ts';
import { Retries } from '../src/retries.ts';
import { FakeClock } from './fake-clock.ts';

const HOUR_MS = 3_600_000;
const fail = (code: 'network' | 'wrong-token', facts = {}) => Promise.reject(new MayflyError(code, facts));

describe('what may be repeated', () => {
  test('is tried again after 1, 2, 4, 8, 15, 30, 30 seconds at most and half of them at least', async () => {
    const clock = new FakeClock();
    const troubles: string[] = [];
    const retries = new Retries({ clock, onTrouble: ({ code }) => troubles.push(code) });
    const result = await retries.run(() => (clock.sleeps.length < 7 ? fail('network') : Promise.resolve('stored')));
    expect(result).toBe('stored');
    const waits = clock.sleeps.map(({ ms }) => ms / 1000);
    for (const [index, longest] of [1, 2, 4, 8, 15, 30, 30].entries()) {
      expect(waits[index]).toBeLessThanOrEqual(longest);
      expect(waits[index]).toBeGreaterThanOrEqual(longest / 2);
    }
    expect(waits[5]).not.toBe(waits[6]);
    expect(clock.sleeps.every(({ untilOnline }) => untilOnline)).toBe(true);
    expect(troubles).toEqual(Array(7).fill('network'));
  });

  test.each(['ECONNREFUSED', 'ENETUNREACH'])(
    'is tried every second while no connection can be made: %s',
    async (code) => {
      const clock = new FakeClock();
      const cause = Object.assign(new Error('fetch failed'), { code });
      await new Retries({ clock }).run(() =>
        clock.sleeps.length < 9 ? fail('network', { cause }) : Promise.resolve(),
      );
      expect(Math.max(...clock.sleeps.map(({ ms }) => ms))).toBeLessThanOrEqual(1_000);
    },
  );

  test('is not tried before the service wants to hear of it, whatever the network does', async () => {
    const clock = new FakeClock();
    const facts = { status: 503, retryAfterSec: 77 };
    await new Retries({ clock }).run((last) => (last ? Promise.resolve() : fail('network', facts)));
    expect(clock.sleeps).toEqual([{ ms: 77_000, untilOnline: false }]);
  });

  test('is given up an hour after the last success, whoever had that', async () => {
    const clock = new FakeClock();
    const retries = new Retries({ clock });
    clock.nowMs = HOUR_MS / 2;
    await retries.run(() => Promise.resolve());
    await expect(retries.run(() => fail('network'))).rejects.toMatchObject({ code: 'network' });
    expect(clock.nowMs).toBeGreaterThan(1.5 * HOUR_MS - 31_000);
    expect(clock.nowMs).toBeLessThanOrEqual(1.5 * HOUR_MS);
  });

  test('is not tried again when another try would end the same way', async () => {
    const clock = new FakeClock();
    await expect(new Retries({ clock }).run(() => fail('wrong-token'))).rejects.toMatchObject({ code: 'wrong-token' });
    expect(clock.sleeps).toEqual([]);
  });

  test('is tried at once when the browser is online again, and not at all when it is stopped', async () => {
    const page = new EventTarget();
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
    try {
      const sleeping = systemClock.sleep(60_000, { untilOnline: true });
      page.dispatchEvent(new Event('online'));
      await sleeping;
      const controller = new AbortController();
      const stopped = systemClock.sleep(60_000, { signal: controller.signal });
      page.dispatchEvent(new Event('online'));
      controller.abort();
      await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
      await systemClock.sleep(1, {});
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe('parts under way', () => {
  /** A network where so many parts at once still make it faster. */
  function limitsWhere(fastest: number, max: number): number[] {
    const clock = new FakeClock();
    const parallelism = new Parallelism(max, clock);
    const limits: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      for (let part = 0; part < 2 * parallelism.limit; part += 1) {
        clock.nowMs += 1000 / Math.min(parallelism.limit, fastest);
        parallelism.stored(1000);
      }
      limits.push(parallelism.limit);
    }
    return limits;
  }

  test('are two, and one more for as long as that makes it faster', () => {
    expect(limitsWhere(1, 8)).toEqual([3, ...Array(11).fill(2)]);
    expect(limitsWhere(4, 8)).toEqual([3, 4, 5, ...Array(9).fill(4)]);
    expect(limitsWhere(100, 4)).toEqual([3, ...Array(11).fill(4)]);
    expect(limitsWhere(100, 1)).toEqual(Array(12).fill(1));
  });

  async function* numbers(count: number, onTaken: (number: number) => void = () => {}) {
    for (let number = 1; number <= count; number += 1) {
      onTaken(number);
      yield number;
    }
  }
  const options = { sizeOf: () => 1, maxParallel: 2, clock: new FakeClock() };

  test('are never more than allowed, and all are stored once', async () => {
    const stored: number[] = [];
    let [running, most, taken] = [0, 0, 0];
    await storeParts(
      numbers(20, (number) => {
        taken = number;
      }),
      {
        ...options,
        async store(part) {
          running += 1;
          most = Math.max(most, running);
          // Nothing is read ahead of those that are under way.
          expect(taken - stored.length).toBeLessThanOrEqual(2);
          await new Promise((resolve) => setTimeout(resolve, part % 3));
          running -= 1;
        },
        onStored: (part) => stored.push(part),
      },
    );
    expect(most).toBe(2);
    expect(stored.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  test('end with the first failure, and with the signal, even when nothing more comes', async () => {
    let ended = 0;
    const store = (part: number, signal: AbortSignal) =>
      part === 1
        ? fail('wrong-token')
        : new Promise<never>((_, reject) => {
            signal.addEventListener('abort', () => {
              ended += 1;
              reject(new Error('ended'));
            });
          });
    const failing = storeParts(numbers(5), { ...options, store, onStored: () => {} });
    await expect(failing).rejects.toMatchObject({ code: 'wrong-token' });
    expect(ended).toBe(1);
    const silent = { next: () => new Promise<never>(() => {}) };
    const controller = new AbortController();
    const stopped = storeParts(silent, { ...options, store, onStored: () => {}, signal: controller.signal });
    controller.abort();
    await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
  });
});
