import { RateLimiterMemory } from 'rate-limiter-flexible';
import { Admission, type Claims, type Limits } from './admission.ts';

/** Most clients that are remembered; the one that came first is forgotten for a new one. */
const MAX_KEYS = 10_000;

/** The same decisions in this process alone, for when Redis is away: the library's insurance. Decision 14. */
export class MemoryAdmission extends RateLimiterMemory {
  readonly #limits: Limits;
  readonly #now: () => number;
  readonly #logs = new Map<string, number[]>();
  readonly #bytes = new Map<string, number>();

  constructor(limits: Limits, now: () => number = () => performance.now()) {
    super({ points: limits.max || Number.MAX_SAFE_INTEGER, duration: Math.ceil(limits.windowMs / 1000) });
    this.#limits = limits;
    this.#now = now;
  }

  override async consume(key: string | number, _points = 1, { quota, failuresKey }: Claims = {}): Promise<Admission> {
    const { max, windowMs, quotaBytes, failuresMax, failuresWindowMs } = this.#limits;
    const now = this.#now();
    const decided = (...result: [number, number, number, number]) => new Admission('memory', this.#limits, result);
    let [count, waitMs] = [0, 0];
    if (max > 0) {
      const log = this.#live(String(key), windowMs, now);
      if (log.length >= max) throw decided(log.length + 1, (log[0] ?? now) + windowMs - now, 0, 0);
      log.push(now);
      [count, waitMs] = [log.length, (log[0] ?? now) + windowMs - now];
    }
    if (failuresKey) {
      const failures = this.#live(failuresKey, failuresWindowMs, now);
      if (failures.length >= failuresMax)
        return decided(count, waitMs, 0, (failures[0] ?? now) + failuresWindowMs - now);
    }
    if (quota) {
      const used = (this.#bytes.get(quota.key) ?? 0) + quota.bytes;
      if (used > quotaBytes) return decided(count, waitMs, 1, 0);
      remember(this.#bytes, quota.key, used);
    }
    return decided(count, waitMs, 0, 0);
  }

  giveBack(key: string, bytes: number) {
    const used = this.#bytes.get(key);
    if (used !== undefined) this.#bytes.set(key, Math.max(used - bytes, 0));
  }

  fail(key: string) {
    const log = this.#live(key, this.#limits.failuresWindowMs, this.#now());
    log.push(this.#now());
    if (log.length > this.#limits.failuresMax) log.shift();
  }

  #live(key: string, windowMs: number, now: number): number[] {
    const log = (this.#logs.get(key) ?? []).filter((time) => time > now - windowMs);
    remember(this.#logs, key, log);
    return log;
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T) {
  if (!map.has(key) && map.size >= MAX_KEYS) map.delete(map.keys().next().value ?? '');
  map.set(key, value);
}
