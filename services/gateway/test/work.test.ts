import { argon2Sync, createSecretKey } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Redis } from '@mayfly/shared/redis';
import { describe, expect, test } from 'vitest';
import type { Limits } from '../src/limits/admission.ts';
import { CHALLENGE_MS, endOf, makeChallenge, readSolution, type Solution } from '../src/work/challenge.ts';
import { solutionChecks } from '../src/work/check-solutions.ts';
import { workLedger } from '../src/work/ledger.ts';
import { takenUntil, triesAt } from '../src/work/prices.ts';
import { clientWork } from '../src/work/work.ts';
import { freshConnection } from './start-gateway.ts';

const MINUTE = 60_000;
const BEFORE_MIDNIGHT = Date.UTC(2026, 0, 31, 23, 57);
const CLIENT = '198.51.100.7';
const PRICE = { memoryKiB: 8192, passes: 1, tries: 32 };
const keyOf = (name: string) => createSecretKey(Buffer.from(name.padEnd(64)));
const away = () => Promise.reject(new Error('Redis is away'));
const AWAY = { defineCommand() {}, mayflyAskWork: away, mayflyUseWork: away } as unknown as Redis;

/** Work at a time that a test sets, where every solution is right; how many were hashed. */
function workAt(time: number, redis = AWAY) {
  const clock = { time };
  const seen = { hashed: 0 };
  const requests = {
    sharedKey: keyOf,
    keyOf: async (address: string) => `mayfly:rate:${address}`,
    limits: { windowMs: MINUTE } as Limits,
  };
  const isSolved = async () => {
    seen.hashed += 1;
    return true;
  };
  const settings = { WORK_EXTRA: 2 };
  const work = clientWork({ redis, requests, settings, now: () => clock.time, isSolved });
  const solved = async (address = CLIENT) => {
    const offer = await work.offer(address);
    if ('waitMs' in offer) throw new Error(`sold out for ${offer.waitMs} ms`);
    return `${offer.challenge}.1`;
  };
  return { clock, seen, work, solved };
}

describe('a challenge', () => {
  const key = keyOf('one');
  const challenge = makeChallenge(key, CLIENT, 1_000_000, PRICE);
  const header = `${challenge}.17`;

  test('says what was signed, for its client and under its key alone', () => {
    const id = challenge.split('.')[4];
    expect(readSolution(key, CLIENT, header)).toEqual({ ...PRICE, endsAt: 1_000_000, id, text: header });
    expect(readSolution(key, '198.51.100.8', header)).toBeUndefined();
    expect(readSolution(keyOf('other'), CLIENT, header)).toBeUndefined();
    expect(makeChallenge(key, CLIENT, 1_000_000, PRICE)).not.toBe(challenge);
  });

  test('is none when anything of it was changed', () => {
    const swapped = (text: string) => (text.startsWith('1') ? `2${text.slice(1)}` : `1${text.slice(1)}`);
    const parts = challenge.split('.');
    for (const place of parts.keys()) {
      const other = parts.map((part, index) => (index === place ? swapped(part) : part)).join('.');
      expect(readSolution(key, CLIENT, `${other}.17`)).toBeUndefined();
    }
    const misshapen = [challenge, `${header}.`, ` ${header}`, `${header} `, `${challenge}.-1`, `${challenge}.1e3`, ''];
    for (const text of misshapen) expect([text, readSolution(key, CLIENT, text)]).toEqual([text, undefined]);
    expect(readSolution(key, CLIENT, `${challenge}.18`)?.text).toBe(`${challenge}.18`);
  });

  test('ends, and is not taken from a future that no clock of another gateway is in', () => {
    expect(endOf(header, 999_999)).toBe(1_000_000);
    expect(endOf(header, 1_000_000)).toBeUndefined();
    expect(endOf(header, 1_000_000 - CHALLENGE_MS - MINUTE)).toBe(1_000_000);
    expect(endOf(header, 1_000_000 - CHALLENGE_MS - MINUTE - 1)).toBeUndefined();
    expect(endOf('please', 0)).toBeUndefined();
  });
});

test('a solution is worth what was promised until its challenge ends, across midnight too', async () => {
  const { clock, seen, work, solved } = workAt(BEFORE_MIDNIGHT);
  const [used, late] = [await solved(), await solved()];
  expect(await work.isWorth(CLIENT, used)).toBe(true);
  clock.time += CHALLENGE_MS - 1;
  expect(await work.isWorth(CLIENT, used)).toBe(true);
  expect(await work.isWorth(CLIENT, used)).toBe(false);
  clock.time += 1;
  expect(await work.isWorth(CLIENT, late)).toBe(false);
  expect(seen.hashed).toBe(1);
});

test('nothing is hashed that is forged, has ended, is of another client, was used up or costs too little by now', async () => {
  const { clock, seen, work, solved } = workAt(BEFORE_MIDNIGHT);
  const cheap = await solved();
  const ofOther = await solved('198.51.100.8');
  const used = await solved();
  for (let i = 0; i < 2; i += 1) expect(await work.isWorth(CLIENT, used)).toBe(true);
  expect(seen.hashed).toBe(1);
  const [endsAt, ...rest] = cheap.split('.');
  const bogus = [used, ofOther, `${Number(endsAt) + 1}.${rest.join('.')}`, 'x', '1'.repeat(8_000)];
  for (const header of bogus) expect(await work.isWorth(CLIENT, header)).toBe(false);
  clock.time += CHALLENGE_MS;
  expect(await work.isWorth(CLIENT, cheap)).toBe(false);
  expect(seen.hashed).toBe(1);
});

test('what was refused is refused for a second without asking Redis', async () => {
  const asked = { count: 0 };
  const mayflyUseWork = async () => {
    asked.count += 1;
    return 0;
  };
  const redis = { defineCommand() {}, mayflyAskWork: async () => [0, 0], mayflyUseWork } as unknown as Redis;
  const { clock, work, solved } = workAt(BEFORE_MIDNIGHT, redis);
  const [used, other] = [await solved(), await solved()];
  for (let i = 0; i < 50; i += 1) expect(await work.isWorth(CLIENT, used)).toBe(false);
  expect(asked.count).toBe(1);
  await work.isWorth(CLIENT, other);
  expect(asked.count).toBe(2);
  clock.time += 1_000;
  await work.isWorth(CLIENT, used);
  expect(asked.count).toBe(3);
});

test('the price rises by steps, and a challenge is taken one step later than it was made', () => {
  expect([0, 3, 4, 7, 8, 23].map(triesAt)).toEqual([32, 32, 64, 64, 128, 1024]);
  expect([32, 64, 512, 1024].map(takenUntil)).toEqual([8, 12, 24, 24]);
});

describe('what is hashed', () => {
  const solution = (id: string, text = id): Solution => ({ ...PRICE, tries: 4, endsAt: 0, id, text });

  test('is the header, and one in so many passes', async () => {
    const isSolved = solutionChecks();
    const parameters = { nonce: Buffer.from('mayfly:work:1'), memory: 8192, passes: 1, parallelism: 1, tagLength: 4 };
    let passed = 0;
    for (let i = 0; i < 40; i += 1) {
      const text = `header ${i}`;
      const number = argon2Sync('argon2id', { ...parameters, message: Buffer.from(text) }).readUInt32BE();
      expect(await isSolved(solution(String(i), text))).toBe(number < 2 ** 30);
      if (number < 2 ** 30) passed += 1;
    }
    expect(passed).toBeGreaterThan(0);
    expect(passed).toBeLessThan(40);
  });

  test('is one solution of each challenge, once, however often it comes; another one is none', async () => {
    let hashed = 0;
    const isSolved = solutionChecks(async () => {
      hashed += 1;
      await turn();
      return true;
    });
    const [one, other] = [solution('a', 'a.1'), solution('a', 'a.2')];
    expect(await Promise.all([isSolved(one), isSolved(one), isSolved(other)])).toEqual([true, true, false]);
    expect([await isSolved(one), await isSolved(other), hashed]).toEqual([true, false, 1]);
  });

  test('is two at a time, with room for 64 that wait; the others may come again', async () => {
    const ends: (() => void)[] = [];
    let [underWay, most] = [0, 0];
    const isSolved = solutionChecks(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise<void>((resolve) => ends.push(resolve));
      underWay -= 1;
      return true;
    });
    const asked = Array.from({ length: 70 }, (_, index) => isSolved(solution(String(index))));
    const isOver = Promise.all(asked);
    for (let i = 0; i < 66; i += 1) {
      while (ends.length === 0) await turn();
      ends.shift()?.();
    }
    expect((await isOver).filter(Boolean)).toHaveLength(66);
    expect(most).toBe(2);
    const again = isSolved(solution('69'));
    while (ends.length === 0) await turn();
    ends.shift()?.();
    expect(await again).toBe(true);
  });

  test('may fail: then it is none for now, and may come again', async () => {
    let fails = true;
    const isSolved = solutionChecks(async () => {
      if (fails) throw new Error('no memory');
      return true;
    });
    for (let i = 0; i < 5; i += 1) expect(await isSolved(solution(String(i)))).toBe(false);
    fails = false;
    for (let i = 0; i < 5; i += 1) expect(await isSolved(solution(String(i)))).toBe(true);
  });
});

describe.each(['Redis', 'memory'])('what was asked, bought and used (%s)', (place) => {
  const WINDOW_MS = 2_000;
  const use = (id: string, changes = {}) => ({
    client: 'mayfly:rate:{7}client',
    id,
    requests: 3,
    keptMs: 10_000,
    takenUntil: 8,
    ...changes,
  });
  async function ledgerOf(stack: AsyncDisposableStack) {
    const redis = place === 'Redis' ? await freshConnection(stack) : AWAY;
    return workLedger(redis, WINDOW_MS, Date.now);
  }

  test('a solution that was not checked is not used; then exactly so many requests are, at once', async () => {
    await using stack = new AsyncDisposableStack();
    const ledger = await ledgerOf(stack);
    expect(await ledger.use(use('a'), false)).toBeUndefined();
    const answers = await Promise.all(Array.from({ length: 50 }, () => ledger.use(use('a'), true)));
    expect(answers.filter(Boolean)).toHaveLength(3);
    expect(await ledger.use(use('a'), false)).toBe(false);
    expect(await ledger.use(use('b'), false)).toBeUndefined();
  });

  test('so many purchases are taken in a window, of each client, and the next ones when they have left it', async () => {
    await using stack = new AsyncDisposableStack();
    const ledger = await ledgerOf(stack);
    const client = 'mayfly:rate:{7}other';
    for (let i = 0; i < 24; i += 1) expect(await ledger.use(use(`a${i}`, { client, takenUntil: 24 }), true)).toBe(true);
    expect(await ledger.use(use('more', { client, takenUntil: 24 }), true)).toBe(false);
    expect(await ledger.use(use('a1', { client, takenUntil: 24 }), true)).toBe(true); // it was bought
    expect(await ledger.ask('mayfly:rate:{7}client')).toEqual({ bought: 0, waitMs: 0 });
    const { bought, waitMs } = await ledger.ask(client);
    expect(bought).toBe(24);
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(WINDOW_MS);
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS + 50));
    expect(await ledger.ask(client)).toEqual({ bought: 0, waitMs: 0 });
    expect(await ledger.use(use('more', { client }), true)).toBe(true);
    expect(await ledger.ask(client)).toEqual({ bought: 1, waitMs: 0 });
  });

  test('nothing of it stays', async () => {
    if (place === 'memory') return;
    await using stack = new AsyncDisposableStack();
    const redis = await freshConnection(stack);
    const ledger = workLedger(redis, WINDOW_MS, Date.now);
    await ledger.ask(use('a').client);
    await ledger.use(use('a'), true);
    const names = await redis.keys('*');
    expect(names).toHaveLength(3);
    for (const name of names) {
      expect(name).toMatch(/^mayfly:work:(asked|bought|used):.*\{7\}/);
      expect(await redis.pttl(name)).toBeGreaterThan(0);
    }
  });
});
