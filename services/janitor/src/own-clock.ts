import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';

/** Node takes a longer one for a millisecond. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** How long Redis may take to say when the last sweep was; then nobody knows. */
const ASK_MS = 2_000;
/** After so many intervals without a sweep of any replica, the schedule is not to be relied on. */
const MISSED_INTERVALS = 2;

export type OwnClock = {
  /** Runs a sweep, whoever wanted it, and records for all replicas that there was one. Whoever comes meanwhile gets the same one. */
  watched(sweep: () => Promise<void>): Promise<void>;
  stop(): void;
  /** Resolves when no sweep runs. */
  idle(): Promise<unknown>;
};

/**
 * Sweeps by this process's own clock as long as no sweep of any replica is known to have run in time: Redis is away, silent, or
 * refuses to write. Replicas may then sweep at once, which is safe. Decision sweeps-without-redis.
 */
export function ownClock(given: {
  redis: Redis;
  key: string;
  intervalMs: number;
  sweep: () => Promise<void>;
  logger: Logger;
}): OwnClock {
  const { redis, key, intervalMs, sweep, logger } = given;
  // Only durations are measured here: the time of day may be wrong, and right again.
  let lastAt = performance.now(); // of this process
  let running: Promise<void> | undefined;
  let question: Promise<string | undefined> | undefined;
  let isAlone = false;
  let recorded = ''; // the last that is known of
  let lastRecorded = ''; // by this process
  let changedAt = lastAt; // a start leaves the schedule its time

  /** What was recorded of the last sweep of any replica; undefined when Redis cannot tell. */
  const lastOfAny = async (): Promise<string | undefined> => {
    if (redis.status !== 'ready' || question) return undefined; // one question at a time, also to a Redis that is silent
    question = redis
      .get(key)
      .then((at) => at ?? '')
      .catch(() => undefined) // it is away, which is an answer
      .finally(() => {
        question = undefined;
      });
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), Math.min(ASK_MS, intervalMs));
    try {
      return await Promise.race([question, late]);
    } finally {
      clearTimeout(timer);
    }
  };

  const tick = async () => {
    if (running) return;
    const last = await lastOfAny();
    const now = performance.now();
    if (last !== undefined && last !== recorded) [recorded, changedAt] = [last, now];
    const isScheduled = last !== undefined && now - changedAt < MISSED_INTERVALS * intervalMs;
    if (!isScheduled && !running && now - lastAt >= 0.9 * intervalMs) {
      if (!isAlone) logger.warn('no sweep is known to have run in time: this process sweeps by its own clock');
      isAlone = true;
      try {
        await sweep();
      } finally {
        recorded = lastRecorded; // no sign that the schedule works
      }
    } else if (isScheduled && isAlone) {
      isAlone = false;
      logger.info('sweeps are scheduled again');
    }
  };
  const timer = setInterval(
    () => {
      tick().catch((err: unknown) => logger.warn({ err }, 'a sweep failed; tried again'));
    },
    Math.min(intervalMs, LONGEST_TIMER_MS),
  );

  return {
    watched(work) {
      running ??= work().finally(() => {
        running = undefined;
        lastAt = performance.now();
        lastRecorded = String(Date.now());
        // Best effort: where it cannot be recorded, every replica sweeps by its own clock.
        if (redis.status === 'ready') redis.set(key, lastRecorded).catch(() => {});
      });
      return running;
    },
    stop: () => clearInterval(timer),
    idle: async () => running?.catch(() => {}), // its fault was logged where it was wanted
  };
}
