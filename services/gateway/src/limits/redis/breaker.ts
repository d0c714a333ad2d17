import type { Redis } from '@mayfly/shared/redis';

/** One slow answer is no outage. */
const FAULTS_IN_A_ROW = 2;

export type Breaker = {
  /** Rejects at once while Redis is away; runs the command otherwise. */
  run<T>(command: () => Promise<T>): Promise<T>;
  /** Runs the command even so: what a timer asks, so that no request has to find out. Never rejects. */
  probe(command: () => Promise<unknown>): Promise<void>;
};

/** Tells `onChange` once when Redis goes away and once when it is back. */
export function breaker(redis: Pick<Redis, 'status'>, onChange: (isUp: boolean) => void): Breaker {
  let faults = 0;
  let isUp = true;
  const report = (now: boolean) => {
    if (now !== isUp) onChange(now);
    isUp = now;
  };
  const attempt = async <T>(command: () => Promise<T>): Promise<T> => {
    if (redis.status !== 'ready') {
      report(false);
      throw new Error('Redis is not connected');
    }
    try {
      const result = await command();
      faults = 0;
      return result;
    } catch (error) {
      faults += 1;
      if (faults >= FAULTS_IN_A_ROW) report(false);
      throw error;
    }
  };
  return {
    run: (command) => (isUp ? attempt(command) : Promise.reject(new Error('Redis is away'))),
    async probe(command) {
      try {
        await attempt(command);
        report(true);
      } catch {
        // Asked again soon; the change is reported already.
      }
    },
  };
}
