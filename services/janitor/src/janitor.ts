import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import { Queue, Worker } from 'bullmq';
import { type SweepDeps, sweep } from './sweep.ts';

export type JanitorDeps = SweepDeps & {
  /** A connection for BullMQ (openRedis purpose `queue`); the worker makes its own copy of it. */
  redis: Redis;
  intervalSec: number;
  logger: Logger;
};

const QUEUE = 'janitor';
const PREFIX = '{mayfly}'; // a hash tag: all keys of the queue on one node of a Redis Cluster
/** A sweep that is still running after this long is left to the next worker. */
const CLOSE_MS = 20_000;
const SCHEDULE_AGAIN_MS = 60_000;

/**
 * Sweeps every `intervalSec`, once for all replicas together. Disposing waits for a running sweep. Redis being away delays
 * sweeps and loses none: the schedule is written again whenever Redis comes back, even empty.
 */
export function startJanitor({ redis, intervalSec, logger, ...deps }: JanitorDeps): AsyncDisposable {
  const queue = new Queue(QUEUE, { connection: redis, prefix: PREFIX });
  const worker = new Worker(
    QUEUE,
    async () => {
      const result = await sweep(deps);
      if (Object.values(result).some((count) => count > 0)) logger.info(result, 'swept');
    },
    { connection: redis, prefix: PREFIX, concurrency: 1, lockDuration: 60_000 },
  );
  worker.on('failed', (_job, err) => logger.warn({ err }, 'a sweep failed; the next one goes on'));
  // The connection reports its own faults (openRedis); without a listener BullMQ's copies of them would throw.
  queue.on('error', () => {});
  worker.on('error', () => {});

  const schedule = () => {
    queue
      .upsertJobScheduler(
        'sweep',
        { every: intervalSec * 1000 },
        { name: 'sweep', opts: { removeOnComplete: { count: 5 }, removeOnFail: { count: 20 }, attempts: 1 } },
      )
      .catch((err: unknown) => logger.warn({ err }, 'the sweep was not scheduled; tried again'));
  };
  schedule();
  redis.on('ready', schedule);
  const timer = setInterval(schedule, SCHEDULE_AGAIN_MS);

  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      redis.off('ready', schedule);
      // With Redis a running sweep is awaited; without it BullMQ would wait for Redis, and the next worker finds the job.
      await Promise.race([worker.close(redis.status !== 'ready'), sleep(CLOSE_MS, undefined, { ref: false })]);
      await Promise.race([queue.close(), sleep(1_000, undefined, { ref: false })]);
    },
  };
}
