import { setTimeout as sleep } from 'node:timers/promises';
import { openRedis } from '@mayfly/shared/redis';
import { inSuite } from '@mayfly/testing/in-suite';
import { freshRedis } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { Limits } from '../src/limits/admission.ts';
import { clientOf, networksOf } from '../src/limits/keys/client-address.ts';
import { requestLimits, type Ticket } from '../src/limits/limits.ts';
import { MemoryAdmission } from '../src/limits/memory-admission.ts';
import { admit as admitScript } from '../src/limits/redis/scripts.ts';

const logger = pino({ level: 'silent' });
const LIMITS: Limits = {
  max: 5,
  windowMs: 1_000,
  quotaBytes: 0,
  failuresMax: 0,
  failuresWindowMs: 1_000,
  itemFailuresMax: 0,
};
const SETTINGS = {
  RATE_LIMIT_MAX: 0,
  RATE_LIMIT_WINDOW_SEC: 60,
  UPLOAD_QUOTA_BYTES: 0,
  TOKEN_FAILURES_MAX: 0,
  TOKEN_FAILURES_ITEM_MAX: 0,
  TOKEN_FAILURES_WINDOW_SEC: 900,
  TRUST_PROXY: 0,
};
const DAY = Date.UTC(2026, 5, 1, 12);

const stores = inSuite(() => freshRedis());
const stack = inSuite(async () => new AsyncDisposableStack());

/** A replica of the gateway's limits on the shared Redis, connected. */
async function replica(settings: Partial<typeof SETTINGS>, now: () => number = () => DAY) {
  const { redis } = stack().use(openRedis({ REDIS_URL: stores().url, REDIS_TIMEOUT_MS: 2_000 }, 'commands', logger));
  if (redis.status !== 'ready') await new Promise((resolve) => redis.once('ready', resolve));
  return { redis, limits: requestLimits({ redis, settings: { ...SETTINGS, ...settings }, logger, now }) };
}

const request = (changes: Partial<{ address: string; bytes: number; item: string }> = {}) => ({
  address: '192.0.2.7',
  bytes: 0,
  item: undefined,
  ...changes,
});

describe('the sliding window', () => {
  /** Waits between requests, in milliseconds: bursts, pauses, and steps around the window's length. */
  const waits = fc.array(
    fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 }), fc.integer({ min: 900, max: 1_100 })),
    {
      minLength: 1,
      maxLength: 120,
    },
  );

  /** What an exact log would decide. */
  function reference(times: number[]): boolean[] {
    const admitted: number[] = [];
    return times.map((time) => {
      const isAdmitted = admitted.filter((earlier) => earlier > time - LIMITS.windowMs).length < LIMITS.max;
      if (isAdmitted) admitted.push(time);
      return isAdmitted;
    });
  }

  const timesOf = (gaps: number[]) => {
    let time = 1_000_000;
    return gaps.map((gap) => {
      time += gap;
      return time;
    });
  };

  test('the script decides as an exact log does, and never lets more than the limit through in any window', async () => {
    const { redis } = await replica({});
    redis.defineCommand('admitForTest', { lua: admitScript(LIMITS) });
    const admit = redis as unknown as { admitForTest(...args: (string | number)[]): Promise<number[]> };
    let run = 0;
    let decisions = 0;
    let most = 0;
    await fc.assert(
      fc.asyncProperty(waits, async (gaps) => {
        const key = `window-${run++}`;
        const times = timesOf(gaps);
        const admitted: boolean[] = [];
        for (const time of times) {
          const [count = 0] = await admit.admitForTest(2, key, '', 1, '', 0, 0, 0, time);
          admitted.push(count <= LIMITS.max);
        }
        expect(admitted).toEqual(reference(times));
        const passed = times.filter((_, index) => admitted[index]);
        for (const start of passed) {
          most = Math.max(most, passed.filter((time) => time >= start && time < start + LIMITS.windowMs).length);
        }
        decisions += times.length;
        await redis.del(key);
      }),
      { numRuns: 200 },
    );
    expect(decisions).toBeGreaterThan(1_000);
    expect(most).toBe(LIMITS.max);
  });

  test('the insurance in memory decides the same', async () => {
    await fc.assert(
      fc.asyncProperty(waits, async (gaps) => {
        const times = timesOf(gaps);
        let now = 0;
        const memory = new MemoryAdmission(LIMITS, () => now);
        const admitted: boolean[] = [];
        for (const time of times) {
          now = time;
          const { isLimited } = memory.decide({ rate: { name: 'client', old: '' }, isSwitched: true });
          admitted.push(!isLimited);
        }
        expect(admitted).toEqual(reference(times));
      }),
      { numRuns: 200 },
    );
  });

  test('after a quiet window the full capacity is back', async () => {
    const { limits } = await replica({ RATE_LIMIT_MAX: 10, RATE_LIMIT_WINDOW_SEC: 1 });
    const burst = async () => {
      const tickets = await Promise.all(
        Array.from({ length: 30 }, () => limits.admit(request({ address: '192.0.2.1' }))),
      );
      return tickets.filter(({ admission }) => !admission.isLimited).length;
    };
    expect(await burst()).toBe(10);
    expect(await burst()).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await burst()).toBe(10);
  });

  test('two replicas share one limit, and other clients are not concerned', async () => {
    const replicas = [await replica({ RATE_LIMIT_MAX: 50 }), await replica({ RATE_LIMIT_MAX: 50 })];
    const address = '192.0.2.2';
    const tickets = await Promise.all(
      Array.from({ length: 200 }, (_, index) => replicas[index % 2]?.limits.admit(request({ address }))),
    );
    expect(tickets.filter((ticket) => ticket && !ticket.admission.isLimited)).toHaveLength(50);
    expect((await replicas[0]?.limits.admit(request({ address: '192.0.2.3' })))?.admission.isLimited).toBe(false);
  });

  test('a client that goes on costs Redis no more than its full log', async () => {
    const { redis, limits } = await replica({ RATE_LIMIT_MAX: 600 });
    const address = '192.0.2.4';
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 100 }, () => limits.admit(request({ address }))));
    }
    const key = await limits.keyOf(address);
    expect(await redis.llen(key)).toBe(600);
    expect(Number(await redis.memory('USAGE', key))).toBeLessThan(10_240);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });
});

describe('the quota', () => {
  const MIB = 1024 * 1024;

  test('parallel uploads on two replicas never overshoot', async () => {
    const settings = { UPLOAD_QUOTA_BYTES: 10 * MIB };
    const replicas = [await replica(settings), await replica(settings)];
    const address = '198.51.100.1';
    const tickets = await Promise.all(
      Array.from({ length: 40 }, (_, index) => replicas[index % 2]?.limits.admit(request({ address, bytes: MIB }))),
    );
    expect(tickets.filter((ticket) => ticket && !ticket.admission.isQuotaExceeded)).toHaveLength(10);
  });

  test('what failed is given back, once, and never more than was taken', async () => {
    const { limits } = await replica({ UPLOAD_QUOTA_BYTES: 2 * MIB });
    const take = () => limits.admit(request({ address: '198.51.100.2', bytes: 2 * MIB }));
    const first = await take();
    const refused = await take();
    expect([first.admission.isQuotaExceeded, refused.admission.isQuotaExceeded]).toEqual([false, true]);
    await refused.giveBack(); // took nothing
    expect((await take()).admission.isQuotaExceeded).toBe(true);
    await first.giveBack();
    expect((await take()).admission.isQuotaExceeded).toBe(false);
    expect((await take()).admission.isQuotaExceeded).toBe(true);
  });

  test('at midnight (UTC) it begins anew under another key, and the old one ends by itself', async () => {
    let time = Date.UTC(2026, 5, 2, 23, 59, 59);
    const { redis, limits } = await replica({ UPLOAD_QUOTA_BYTES: MIB }, () => time);
    const take = () => limits.admit(request({ address: '198.51.100.3', bytes: MIB }));
    const before = await take();
    expect([before.admission.isQuotaExceeded, before.msToMidnight]).toEqual([false, 1_000]);
    expect((await take()).admission.isQuotaExceeded).toBe(true);
    const names = async () => (await redis.keys('mayfly:quota:2026-06-0[23]:*')).map((name) => name.split(':'));
    const [[, , , yesterday] = []] = await names();
    time += 1_000;
    expect((await take()).admission.isQuotaExceeded).toBe(false);
    const pseudonyms = (await names()).map(([, , , pseudonym]) => pseudonym);
    expect(pseudonyms).toHaveLength(2);
    expect(pseudonyms.filter((pseudonym) => pseudonym === yesterday)).toHaveLength(1);
    for (const name of await redis.keys('mayfly:quota*')) expect(await redis.ttl(name), name).toBeGreaterThan(0);
    expect(await redis.ttl('mayfly:quota-key:2026-06-02')).toBeLessThanOrEqual(301);
  });
});

describe('guessing', () => {
  const ITEM = '11111111-1111-4111-8111-111111111111';
  const TRIES = { TOKEN_FAILURES_MAX: 3 };
  const isLocked = ({ lockedMs }: Ticket) => lockedMs > 0;

  test('wrong tokens lock one item for one client, and nothing else', async () => {
    const { limits } = await replica(TRIES);
    const guess = async (address: string, item: string) => {
      const ticket = await limits.admit(request({ address, item }));
      await ticket.fail();
      return isLocked(ticket);
    };
    const results = [];
    for (let round = 0; round < 5; round++) results.push(await guess('203.0.113.1', 'one'));
    expect(results).toEqual([false, false, false, true, true]);
    expect(await guess('203.0.113.1', 'two')).toBe(false);
    expect(await guess('203.0.113.2', 'one')).toBe(false);
  });

  test('an attempt counts while it is under way: the next one waits for it, on another replica, too', async () => {
    const [one, other] = [await replica(TRIES), await replica(TRIES)];
    const at = request({ address: '203.0.113.3', item: ITEM });
    const first = await Promise.all([one.limits.admit(at), one.limits.admit(at), one.limits.admit(at)]);
    expect(first.map(isLocked)).toEqual([false, false, false]);
    let answered = 0;
    const waiting = [one, other].map(({ limits }) =>
      limits.admit(at).then((ticket) => {
        answered++;
        return ticket;
      }),
    );
    await sleep(300);
    expect(answered).toBeLessThanOrEqual(1); // the first attempt of a process may be alone
    await first[0]?.refund();
    await first[1]?.refund();
    expect((await Promise.all(waiting)).map(isLocked)).toEqual([false, false]);
  });

  test('what a gateway that is gone had under way ends by itself', async () => {
    const [one, other] = [await replica({ TOKEN_FAILURES_MAX: 2 }), await replica({ TOKEN_FAILURES_MAX: 2 })];
    const at = request({ address: '203.0.113.4', item: ITEM });
    await Promise.all([one.limits.admit(at), one.limits.admit(at)]);
    one.redis.disconnect();
    for (const name of await other.redis.keys('mayfly:gateway:*')) await other.redis.del(name); // as their time would
    expect(isLocked(await other.limits.admit(at))).toBe(false);
  });

  test('one that was tried beyond the limit is not told from one that was not', async () => {
    const replicas = await Promise.all([replica(TRIES), replica(TRIES), replica(TRIES), replica(TRIES)]);
    const at = request({ address: '203.0.113.5', item: ITEM });
    const tickets = await Promise.all(replicas.map(({ limits }) => limits.admit(at))); // each alone
    const lockedMs = await Promise.all(tickets.map((ticket) => ticket.fail()));
    expect(lockedMs.filter((ms) => ms === 0)).toHaveLength(3);
    expect(lockedMs.filter((ms) => ms > 0)).toHaveLength(tickets.filter((ticket) => !isLocked(ticket)).length - 3);
  });

  test('without Redis the decisions are the same, and a lock outlives any number of look-ups and first failures', async () => {
    await using own = await freshRedis();
    const connection = openRedis({ REDIS_URL: own.url, REDIS_TIMEOUT_MS: 100 }, 'commands', logger);
    await using _ = connection;
    await new Promise((resolve) => connection.redis.once('ready', resolve));
    const settings = { ...SETTINGS, TOKEN_FAILURES_MAX: 3, TOKEN_FAILURES_ITEM_MAX: 6, RATE_LIMIT_MAX: 100_000 };
    const { admit } = requestLimits({ redis: connection.redis, settings, logger, now: () => DAY });
    await own.stop();
    await untilTrue(async () => (await admit(request())).admission.keptBy === 'memory');
    const at = request({ address: '203.0.113.6', item: ITEM });
    const first = await Promise.all([admit(at), admit(at), admit(at)]);
    const fourth = admit(at);
    for (const ticket of first) await ticket.fail();
    expect(isLocked(await fourth)).toBe(true);

    for (let index = 0; index < 11_000; index++) {
      const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
      const ticket = await admit(request({ address, item: `item ${index}` }));
      await (index % 2 ? ticket.fail() : ticket.refund());
    }
    expect(isLocked(await admit(at))).toBe(true);

    // The item's budget: three more, and only who has sent none may try.
    for (const address of ['203.0.113.10', '203.0.113.11', '203.0.113.12']) {
      await (await admit({ ...at, address })).fail();
    }
    expect(isLocked(await admit({ ...at, address: '203.0.113.10' }))).toBe(true);
    const clean = await admit({ ...at, address: '203.0.113.13' });
    expect(isLocked(clean)).toBe(false);
    await clean.fail();
    expect(isLocked(await admit({ ...at, address: '203.0.113.13' }))).toBe(true);
  });
});

describe('the keys', () => {
  const MIDNIGHT = Date.UTC(2026, 5, 4);

  test('change at midnight, and what a client has done counts on, whichever replica is ahead', async () => {
    let [mine, theirs] = [MIDNIGHT - 30_000, MIDNIGHT - 30_000];
    const settings = { RATE_LIMIT_MAX: 6, TOKEN_FAILURES_MAX: 3 };
    const one = await replica(settings, () => mine);
    const other = await replica(settings, () => theirs);
    const at = request({ address: '203.0.113.20', item: 'item' });
    const attempt = async ({ limits }: typeof one) => {
      const ticket = await limits.admit(at);
      await ticket.fail();
      return [ticket.admission.remainingPoints, ticket.lockedMs > 0];
    };
    expect(await attempt(one)).toEqual([5, false]);
    mine = MIDNIGHT + 1_000;
    expect(await attempt(one)).toEqual([4, false]);
    expect(await attempt(other)).toEqual([3, false]); // its clock is behind
    theirs = MIDNIGHT + 1_000;
    expect(await attempt(other)).toEqual([2, true]);
    expect(await attempt(one)).toEqual([1, true]);
    for (const name of await one.redis.keys('mayfly:limiter-key:*')) {
      expect(await one.redis.ttl(name), name).toBeGreaterThan(0);
      expect(await one.redis.ttl(name), name).toBeLessThan(2 * 86_400);
    }
  });

  test('are made anew after FLUSHALL, and all replicas agree on them within seconds', async () => {
    await using own = await freshRedis();
    const stackOfOwn = new AsyncDisposableStack();
    await using _ = stackOfOwn;
    const open = async () => {
      const { redis } = stackOfOwn.use(openRedis({ REDIS_URL: own.url, REDIS_TIMEOUT_MS: 2_000 }, 'commands', logger));
      await new Promise((resolve) => redis.once('ready', resolve));
      const settings = { ...SETTINGS, RATE_LIMIT_MAX: 10, UPLOAD_QUOTA_BYTES: 100 };
      return { redis, limits: requestLimits({ redis, settings, logger }) };
    };
    const [one, other] = [await open(), await open()];
    const take = request({ bytes: 60 });
    const values = async () => (await one.redis.mget(await one.redis.keys('mayfly:*-key:*'))).sort();
    expect((await one.limits.admit(take)).admission.isQuotaExceeded).toBe(false);
    expect((await other.limits.admit(take)).admission.isQuotaExceeded).toBe(true);
    const before = await values();
    await one.redis.flushall();
    const late = await open(); // it knows none of the keys that were
    await late.limits.admit(request());
    await untilTrue(async () => (await values()).length === before.length);
    for (const value of await values()) expect(before).not.toContain(value);
    await sleep(1_500); // each has looked again
    const address = '203.0.113.30';
    const tickets = await Promise.all(
      Array.from({ length: 30 }, (_, index) => [one, other, late][index % 3]?.limits.admit(request({ address }))),
    );
    expect(tickets.filter((ticket) => ticket && !ticket.admission.isLimited)).toHaveLength(10);
    const charged = { address: '203.0.113.31', bytes: 60 };
    expect((await other.limits.admit(request(charged))).admission.isQuotaExceeded).toBe(false);
    expect((await late.limits.admit(request(charged))).admission.isQuotaExceeded).toBe(true);
  });
});

test.each([
  ['192.0.2.1', ['192.0.2.1']],
  ['2001:db8:1:2ff::5', ['2001:db8:1:2ff::/64', '2001:db8:1:200::/56', '2001:db8:1::/48']],
])('the networks of %s are %j', (address, networks) => {
  expect(networksOf(address)).toEqual(networks);
});

test('Redis holds no address in the clear', async () => {
  const { redis, limits } = await replica({ RATE_LIMIT_MAX: 5, UPLOAD_QUOTA_BYTES: 1_000, TOKEN_FAILURES_MAX: 5 });
  const addresses = ['203.0.113.77', '2001:db8:1:2:3:4:5:6', '::ffff:203.0.113.78'];
  for (const address of addresses) await (await limits.admit(request({ address, bytes: 10, item: 'x' }))).fail();
  let everything = '';
  for (const name of await redis.keys('*')) {
    const type = await redis.type(name);
    const held = { list: () => redis.lrange(name, 0, -1), hash: () => redis.hgetall(name) }[type];
    everything += `${name} ${JSON.stringify(await (held ?? (() => redis.get(name)))())}\n`;
  }
  expect(everything).toContain('mayfly:rate:');
  const forms = ['203.0.113.7', 'cb00714d', 'CB00714D', String(0xcb00714d), '2001:db8', '20010db8', '2001db8'];
  for (const form of [
    ...forms,
    Buffer.from('203.0.113.77').toString('base64'),
    Buffer.from('203.0.113.77').toString('hex'),
  ]) {
    expect(everything).not.toContain(form);
  }
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['::1', '::/64'],
  ['unknown', 'unknown'],
])('the client of %s is %s', (address, client) => {
  expect(clientOf(address)).toBe(client);
});

test('without Redis each process limits by itself, at once, and goes back when Redis does', async () => {
  await using own = await freshRedis();
  const connection = openRedis({ REDIS_URL: own.url, REDIS_TIMEOUT_MS: 100 }, 'commands', logger);
  await using _ = connection;
  await new Promise((resolve) => connection.redis.once('ready', resolve));
  const { admit } = requestLimits({ redis: connection.redis, settings: { ...SETTINGS, RATE_LIMIT_MAX: 10 }, logger });
  expect((await admit(request())).admission.keptBy).toBe('redis');
  own.pause();
  const tickets = [];
  for (let index = 0; index < 40; index++) tickets.push(await admit(request()));
  expect(tickets.filter(({ admission }) => !admission.isLimited)).toHaveLength(10);
  expect(tickets.every(({ admission }) => admission.keptBy === 'memory')).toBe(true);
  own.resume();
  for (let tries = 0; tries < 100; tries++) {
    if ((await admit(request({ address: '192.0.2.200' }))).admission.keptBy === 'redis') return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the limits did not go back to Redis within ten seconds');
});
