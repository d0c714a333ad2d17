import { inSuite } from '@mayfly/testing/in-suite';
import { startShape } from '@mayfly/testing/shapes';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { startSentinels } from '../support/sentinels.ts';
import { redisOfSuite, sharedLimits } from '../support/shared-limits.ts';

const LAST_SWEEP = '{mayfly}:janitor:last-sweep';

describe('Redis behind Sentinels', () => {
  const sentinels = inSuite(() => startSentinels(3));
  const running = inSuite(() => startShape('split', { REDIS_URL: sentinels().url, RATE_LIMIT_MAX: '100000' }));
  const redis = redisOfSuite(() => sentinels().url);

  const { areCountedTogether, areWell } = sharedLimits(running, redis);
  const sweepsGoOn = async () => {
    const before = Number(await redis().get(LAST_SWEEP));
    await untilTrue(async () => Number(await redis().get(LAST_SWEEP)) > before, 20_000);
  };
  const primary = async () => /tcp_port:(\d+)/.exec(await redis().info('server'))?.[1];
  const isSharedThrough = async (server: { port: number }) => {
    await untilTrue(async () => (await primary()) === String(server.port), 30_000);
    await untilTrue(areWell, 15_000);
    await untilTrue(areCountedTogether, 15_000);
    await sweepsGoOn();
  };

  test('limits are shared through the primary', async () => {
    await isSharedThrough(sentinels().primary);
  });

  test('after a change-over all go to the new primary, though the old one goes on answering', async () => {
    await untilTrue(
      async () =>
        (await sentinels()
          .changeOver()
          .catch(() => undefined)) === 'OK',
      30_000,
    );
    await isSharedThrough(sentinels().replica);
    expect(await sentinels().call(sentinels().primary.url, 'PING')).toBe('PONG');
  });

  test('when the primary is killed all go to the other one', async () => {
    const role = async () => ((await sentinels().call(sentinels().primary.url, 'ROLE')) as string[]).slice(0, 4);
    await untilTrue(async () => (await role()).includes('connected'), 30_000); // it is a replica by now
    process.kill(sentinels().replica.pid, 'SIGKILL');
    await isSharedThrough(sentinels().primary);
  });
});
