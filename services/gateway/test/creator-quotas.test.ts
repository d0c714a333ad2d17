import { createHash } from 'node:crypto';
import { loadConfig } from '@mayfly/shared/config';
import { openRedis } from '@mayfly/shared/redis';
import { inSuite } from '@mayfly/testing/in-suite';
import { freshRedis } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { settings } from '../src/index.ts';
import type { Creator } from '../src/limits/creator-quotas.ts';
import { requestLimits } from '../src/limits/limits.ts';
import { limitSettings } from '../src/settings.ts';
import { silent } from './start-gateway.ts';

const stores = inSuite(() => freshRedis());
const stack = inSuite(async () => new AsyncDisposableStack());

async function replica(now = () => Date.UTC(2026, 5, 1, 12)) {
  const { redis } = stack().use(openRedis({ REDIS_URL: stores().url, REDIS_TIMEOUT_MS: 2_000 }, 'commands', silent));
  await new Promise((resolve) => redis.once('ready', resolve));
  const limits = requestLimits({ redis, settings: loadConfig(limitSettings, {}), logger: silent, now });
  return { redis, creators: limits.creators };
}

let creators = 0;
const somebody = (quotaBytes = 100): Creator => {
  creators += 1;
  return { name: `key:${creators}`, quotaBytes };
};

test('what is kept names nobody, has an end, and a new name each day', async () => {
  let time = Date.UTC(2026, 5, 2, 23, 59, 59);
  const { redis, creators } = await replica(() => time);
  const hash = createHash('sha256').update('mfk_something').digest('hex');
  const creator = { name: `key:${hash}`, quotaBytes: 100 };
  const session = { ownerToken: 'an-owner-token', seconds: 60 };
  expect((await creators.charge(creator, 100, session)).isExceeded).toBe(false);
  expect((await creators.charge(creator, 1)).isExceeded).toBe(true);
  time += 1_000;
  expect((await creators.charge(creator, 100)).isExceeded).toBe(false);
  const names = await redis.keys('*');
  const counts = names.filter((name) => name.startsWith('mayfly:creator:'));
  expect(counts.map((name) => name.split(':')[2]).sort()).toEqual(['2026-06-02', '2026-06-03']);
  expect(new Set(counts.map((name) => name.split(':')[3])).size).toBe(2);
  for (const name of names) {
    expect(await redis.ttl(name), name).toBeGreaterThan(0);
    const kept = name + (await redis.get(name));
    for (const secret of [hash, hash.slice(0, 16), 'mfk_something', session.ownerToken])
      expect(kept).not.toContain(secret);
  }
  const ownerHashes = ['hex', 'base64url'].map((form) =>
    createHash('sha256')
      .update(session.ownerToken)
      .digest(form as 'hex'),
  );
  for (const known of ownerHashes) expect(names.join()).not.toContain(known);
});

test('what failed is given back once, and a session gives back to whoever began it, on any replica', async () => {
  const [one, other] = [await replica(), await replica()];
  const creator = somebody();
  const first = await one.creators.charge(creator, 60);
  await one.creators.charge(creator, 40, { ownerToken: 'a', seconds: 60 });
  expect((await other.creators.charge(creator, 1)).isExceeded).toBe(true);
  await first.giveBack();
  await first.giveBack();
  expect((await other.creators.charge(creator, 61)).isExceeded).toBe(true);
  await other.creators.credit('unknown', 40);
  expect((await other.creators.charge(creator, 61)).isExceeded).toBe(true);
  await other.creators.credit('a', 39);
  expect((await one.creators.charge(creator, 99)).isExceeded).toBe(false);
  expect((await one.creators.charge(creator, 1)).isExceeded).toBe(true);
});

test('what was refused gives nothing back', async () => {
  const { creators } = await replica();
  const creator = somebody();
  await creators.charge(creator, 90);
  const refused = await creators.charge(creator, 20, { ownerToken: 'refused', seconds: 60 });
  expect(refused.isExceeded).toBe(true);
  await refused.giveBack();
  await creators.credit('refused', 20);
  expect((await creators.charge(creator, 11)).isExceeded).toBe(true);
});

test('without Redis each process counts by itself, and gives back there', async () => {
  const [one, other] = [await replica(), await replica()];
  const creator = somebody();
  for (const { redis } of [one, other]) redis.disconnect();
  for (const { creators } of [one, other]) {
    const first = await creators.charge(creator, 60, { ownerToken: 'b', seconds: 60 });
    expect([first.isExceeded, first.keptBy]).toEqual([false, 'memory']);
    expect((await creators.charge(creator, 60)).isExceeded).toBe(true);
    await creators.credit('b', 50);
    await first.giveBack();
    const all = await creators.charge(creator, 100);
    expect(all.isExceeded).toBe(false);
    expect((await creators.charge(creator, 1)).isExceeded).toBe(true);
  }
});

test('no limit is none', async () => {
  const { creators, redis } = await replica();
  const before = await redis.dbsize();
  for (let i = 0; i < 3; i++) expect((await creators.charge(somebody(0), 2 ** 50)).isExceeded).toBe(false);
  expect(await redis.dbsize()).toBe(before);
});

const HASH = 'a'.repeat(64);
const keysIn = (CREATE_KEYS: string) =>
  loadConfig(settings({}), { REDIS_URL: 'redis://127.0.0.1:1', CREATE_KEYS }).CREATE_KEYS;

test('a hash may stand with a size', () => {
  const other = 'B'.repeat(64);
  expect(keysIn(`${HASH}:10GiB, ${other}`)).toEqual(
    new Map([
      [HASH, { bytes: 10 * 2 ** 30 }],
      [other.toLowerCase(), { bytes: undefined }],
    ]),
  );
});

test.each([`${HASH}:`, `${HASH}:many`, `${HASH}:1:2`, ':1GiB', `${HASH} : 1GiB`])(
  'and with nothing else: %s',
  (text) => {
    expect(() => keysIn(text)).toThrow(/CREATE_KEYS/);
  },
);
