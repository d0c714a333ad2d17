import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import { type Job, Queue, Worker } from 'bullmq';
import { openJobMetrics } from './job-metrics.ts';
import { ownClock } from './own-clock.ts';
import { planJobs } from './plan-jobs.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';
import { SweepFailed, type SweepResult, sweep } from './sweep.ts';

export type JanitorDeps = Parameters<typeof sweep>[0] &
  ReconcileDeps & {
    /** A connection for BullMQ (openRedis purpose `queue`); the worker makes its own copy of it. */
    redis: Redis;
    sweepSec: number;
    /** 0: never. */
    reconcileSec: number;
    logger: Logger;
  };

const QUEUE = 'janitor';
const PREFIX = '{mayfly}'; // a hash tag: all keys of the queue on one node of a Redis Cluster
/** When a sweep last ended, whoever ran it: milliseconds since 1970. */
const LAST_SWEEP = `${PREFIX}:${QUEUE}:last-sweep`;
/** There while a janitor writes the schedule. */
const PLANNING = `${PREFIX}:${QUEUE}:planning`;
/** A job that is still running after this long is left to the next worker. */
const CLOSE_MS = 20_000;
const SCHEDULE_AGAIN_MS = 60_000;
/** Without `info` BullMQ would ask for the version, at once and for ever. It needs 5, and the limits need 6.2. */
const BACKEND = { prefix: PREFIX, skipVersionCheck: true };
const KEPT = { removeOnComplete: { count: 5 }, removeOnFail: { count: 20 } };
/** A sweep that fails is tried again soon: the next one may be far. */
const RETRIED = { ...KEPT, attempts: 3, backoff: { type: 'exponential', delay: 2_000 } };

/**
 * Sweeps and reconciles, each once per interval for all replicas together. Disposing waits for what is running. The schedule is
 * written again whenever Redis comes back, even empty, and looked at every minute; while it cannot be relied on, each janitor sweeps by its own clock.
 */
export function startJanitor({ redis, sweepSec, reconcileSec, logger, ...deps }: JanitorDeps): AsyncDisposable {
  const jobMetrics = openJobMetrics();
  const closing = new AbortController();
  const sweepOnce = async () => {
    try {
      report(await sweep(deps));
    } catch (error) {
      if (error instanceof SweepFailed) report(error.result);
      throw error;
    }
  };
  const clock = ownClock({
    redis,
    key: LAST_SWEEP,
    intervalMs: sweepSec * 1000,
    sweep: () => runAt(undefined, 'sweep'),
    logger,
  });
  const jobs: Record<string, () => Promise<void>> = {
    sweep: () => clock.watched(sweepOnce),
    async reconcile() {
      const result = await reconcile(deps, { signal: closing.signal });
      if (result.outcome === 'refused') logger.error(result, 'the comparison is refused: nothing was changed');
      else logger.info(result, 'reconciled');
      jobMetrics.reconciled(result);
    },
  };
  const report = (result: SweepResult) => {
    jobMetrics.swept(result);
    if (Object.values(result).some((count) => count > 0)) logger.info(result, 'swept');
  };

  const runAt = async (dueAt: number | undefined, name: string) => {
    const work = jobs[name];
    if (work) await jobMetrics.run(name, dueAt, work);
  };
  const queue = new Queue(QUEUE, { connection: redis, ...BACKEND });
  const worker = new Worker(QUEUE, async (job: Job) => runAt(dueAtOf(job), job.name), {
    connection: redis,
    ...BACKEND,
    concurrency: 2, // a comparison takes long, and sweeps go on meanwhile
    lockDuration: 60_000,
    runRetryDelay: 2_000, // after a fault of Redis; 15 s unless set
  });
  worker.on('failed', (job, err) => {
    if (!closing.signal.aborted) logger.warn({ job: job?.name, attempt: job?.attemptsMade, err }, 'a job failed');
  });
  // The connection reports its own faults (openRedis); without a listener BullMQ's copies of them would throw.
  queue.on('error', () => {});
  worker.on('error', () => {});

  const plan = planJobs({
    queue,
    redis,
    lockKey: PLANNING,
    plans: [
      { name: 'sweep', everySec: sweepSec, opts: RETRIED },
      { name: 'reconcile', everySec: reconcileSec, opts: KEPT },
    ],
    logger,
  });
  const schedule = () =>
    plan().catch((err: unknown) => logger.warn({ err }, 'the jobs were not scheduled; tried again'));
  void schedule();
  redis.on('ready', schedule);
  const timer = setInterval(schedule, SCHEDULE_AGAIN_MS);

  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      clock.stop();
      redis.off('ready', schedule);
      closing.abort(new Error('the process is asked to stop'));
      // With Redis a running sweep is awaited; without it BullMQ would wait for Redis, and the next worker finds the job.
      await Promise.race([worker.close(redis.status !== 'ready'), sleep(CLOSE_MS, undefined, { ref: false })]);
      await Promise.race([queue.close(), sleep(1_000, undefined, { ref: false })]);
      await Promise.race([clock.idle(), sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

/** When the schedule wanted a job to begin; undefined when it is tried again. `delay` itself is 0 as soon as a job may begin. */
const dueAtOf = ({ timestamp, opts: { delay = 0 }, attemptsMade }: Job) =>
  attemptsMade === 0 ? timestamp + delay : undefined;
