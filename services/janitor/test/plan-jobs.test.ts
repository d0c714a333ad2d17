import { openRedis } from '@mayfly/shared/redis';
import { freshRedis } from '@mayfly/testing/stores';
import { Queue } from 'bullmq';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { planJobs } from '../src/plan-jobs.ts';

const DAY_MS = 86_400_000;

test('a plan that another replica’s clock keeps putting ahead is moved once per interval', async () => {
  await using stack = new AsyncDisposableStack();
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const { url } = stack.use(await freshRedis());
  const { redis } = stack.use(openRedis({ REDIS_URL: url, REDIS_TIMEOUT_MS: 1_000 }, 'queue', logger));
  const queue = new Queue('jobs', { connection: redis, prefix: '{test}', skipVersionCheck: true });
  stack.defer(() => queue.close());
  const plans = [{ name: 'sweep', everySec: 3_600, opts: {} }];
  const planner = () => planJobs({ queue, redis, lockKey: '{test}:planning', plans, logger });

  const plannedAhead = async () => {
    await queue.removeJobScheduler('sweep');
    const { now } = Date;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + DAY_MS);
    await planner()();
    clock.mockRestore();
  };
  const nextInMs = async () => ((await queue.getJobScheduler('sweep'))?.next ?? 0) - Date.now();

  const plan = planner();
  await plannedAhead();
  expect(await nextInMs()).toBeGreaterThan(DAY_MS - 60_000);
  await Promise.all([plan(), planner()(), planner()()]);
  expect(await nextInMs()).toBeLessThanOrEqual(3_600_000);
  expect(lines).toHaveLength(1);
  await plan();
  expect(lines).toHaveLength(1);

  await plannedAhead();
  await plan();
  expect(await nextInMs()).toBeGreaterThan(DAY_MS - 60_000);
  await planner()(); // it has not moved any
  expect(await nextInMs()).toBeLessThanOrEqual(3_600_000);
  expect(await queue.getDelayedCount()).toBe(1);
  expect(lines.map((line) => JSON.parse(line).job)).toEqual(['sweep', 'sweep']);
});
