import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import type { JobSchedulerTemplateOptions, Queue } from 'bullmq';

type Plan = {
  name: string;
  /** 0: never. */
  everySec: number;
  opts: JobSchedulerTemplateOptions;
};

/** The clocks of two replicas may differ by so much. */
const CLOCKS_MS = 10_000;
/** After so long whoever writes the plans has ended without a word. */
const LOCK_MS = 5_000;

/**
 * A function that writes the plans into Redis, where what is there is left as it is; one replica at a time, the others leave it to
 * that one. A run that lies further ahead than its interval was planned by a clock that was ahead, and is moved to one interval
 * from now. Throws when Redis cannot be relied on. Decision planned-too-far-ahead.
 */
export function planJobs(given: { queue: Queue; redis: Redis; lockKey: string; plans: Plan[]; logger: Logger }) {
  const { queue, redis, lockKey, plans, logger } = given;
  const movedAt = new Map<string, number>();

  const plan = async ({ name, everySec, opts }: Plan) => {
    if (everySec === 0) return void (await queue.removeJobScheduler(name));
    const every = everySec * 1000;
    const next = await queue.upsertJobScheduler(name, { every }, { name, opts });
    const delayMs = next?.delay ?? 0;
    if (delayMs <= every + CLOCKS_MS) return;
    // Once per interval: if another replica's clock is still ahead, it runs at once whatever is planned, and plans as before.
    const now = performance.now();
    if (now - (movedAt.get(name) ?? -Infinity) < every) return;
    movedAt.set(name, now);
    await queue.removeJobScheduler(name);
    await queue.upsertJobScheduler(name, { every, startDate: Date.now() + every }, { name, opts });
    const aheadSec = Math.round(delayMs / 1000);
    logger.warn(
      { job: name, aheadSec },
      'a job was planned further ahead than its interval, and is moved: is a clock wrong?',
    );
  };

  return async () => {
    if (!(await redis.set(lockKey, '1', 'PX', LOCK_MS, 'NX'))) return;
    try {
      for (const one of plans) await plan(one);
    } finally {
      await redis.del(lockKey);
    }
  };
}
