import type { Redis } from '@mayfly/shared/redis';

/** After a fault nothing is asked for this long, so that a hung Redis costs one request its time-out and the rest nothing. */
const PAUSE_MS = 1_000;

export type Breaker = {
  /** Rejects at once while Redis is away; runs the command otherwise. */
  run<T>(command: () => Promise<T>): Promise<T>;
};

/** Tells `onChange` once when Redis goes away and once when it is back. */
export function breaker(redis: Pick<Redis, 'status'>, onChange: (isUp: boolean) => void): Breaker {
  let pausedUntil = 0;
  let isUp = true;
  const report = (now: boolean) => {
    if (now !== isUp) onChange(now);
    isUp = now;
  };
  return {
    async run(command) {
      if (performance.now() < pausedUntil) throw new Error('Redis is being left alone after a fault');
      try {
        if (redis.status !== 'ready') throw new Error('Redis is not connected');
        const result = await command();
        report(true);
        return result;
      } catch (error) {
        pausedUntil = performance.now() + PAUSE_MS;
        report(false);
        throw error;
      }
    },
  };
}
