import { readFileSync } from 'node:fs';
import { openRedis } from '@mayfly/shared/redis';
import { startShape } from '@mayfly/testing/shapes';
import { freshRedis } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { call } from '../support/api.ts';
import { sharedLimits } from '../support/shared-limits.ts';

const LAST_SWEEP = '{mayfly}:janitor:last-sweep';

/** What operators are told to give the service's user. */
const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const rules = /^ACL SETUSER mayfly on >PASSWORD (.+)$/m.exec(operations)?.[1]?.split(' ') ?? [];

describe('a Redis user with the documented rights', () => {
  test.each([
    ['them', rules],
    ['them but INFO', rules.filter((rule) => rule !== '+info')],
  ])('%s: limits are shared, sweeps are scheduled, and nothing else may be done', async (_, allowed) => {
    expect(allowed.length).toBeGreaterThan(5);
    await using stack = new AsyncDisposableStack();
    const store = stack.use(await freshRedis());
    const asker = { REDIS_URL: store.url, REDIS_TIMEOUT_MS: 5_000 };
    const { redis } = stack.use(openRedis(asker, 'queue', pino({ level: 'silent' })));
    await redis.call('ACL', 'SETUSER', 'mayfly', 'on', '>password', ...allowed);
    const url = new URL(store.url);
    [url.username, url.password] = ['mayfly', 'password'];
    const running = stack.use(await startShape('split', { REDIS_URL: url.href, RATE_LIMIT_MAX: '100000' }));

    const limits = sharedLimits(
      () => running,
      () => redis,
    );
    const refused = async () => {
      const log = (await redis.call('ACL', 'LOG')) as unknown[][];
      return log.map((entry) => entry[entry.indexOf('object') + 1]).filter((command) => command !== 'info');
    };
    await untilTrue(limits.areCountedTogether, 15_000).catch(async () => expect(await refused()).toEqual([]));
    for (let round = 0; round < 2; round++) {
      const before = Number(await redis.get(LAST_SWEEP));
      await untilTrue(async () => Number(await redis.get(LAST_SWEEP)) > before, 20_000);
    }
    expect(await redis.keys('{mayfly}:janitor:repeat*')).not.toEqual([]); // by the schedule, not by the janitor's own clock
    expect(await limits.areWell()).toBe(true);
    for (const { adminUrl } of running.processes) expect((await call('GET', `${adminUrl}/livez`)).status).toBe(200);
    expect(await refused()).toEqual([]);

    const service = stack.use(openRedis({ ...asker, REDIS_URL: url.href }, 'queue', pino({ level: 'silent' })));
    for (const [command, ...args] of [['flushall'], ['config', 'get', '*'], ['keys', '*'], ['get', 'other']] as const) {
      await expect(service.redis.call(command, ...args), command).rejects.toThrow('NOPERM');
    }
  });
});
