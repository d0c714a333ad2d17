import type { Redis } from '@mayfly/shared/redis';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { Admission, type Claims, type Limits } from './admission.ts';
import type { Breaker } from './breaker.ts';
import type { MemoryAdmission } from './memory-admission.ts';
import { ADMIT, FAIL, GIVE_BACK } from './redis-scripts.ts';

/** Most clients over their limit that are refused without asking Redis. */
const MAX_BLOCKED = 1_000;

type Scripts = {
  mayflyAdmit(...args: (string | number)[]): Promise<[number, number, number, number]>;
  mayflyGiveBack(key: string, bytes: number): Promise<unknown>;
  mayflyFail(key: string, max: number, windowMs: number): Promise<unknown>;
};

/**
 * The library's limiter with a window that slides. It keeps the library's contract (consume resolves within the limit and
 * rejects beyond it) and its insurance; the script, and with it the window, is this project's.
 */
export class RedisAdmission extends RateLimiterRedis {
  readonly #limits: Limits;
  readonly #scripts: Scripts;
  readonly #breaker: Breaker;
  readonly #blocked = new Map<string, { until: number; count: number }>();

  constructor(options: { redis: Redis; limits: Limits; breaker: Breaker; insurance: MemoryAdmission }) {
    super({
      storeClient: options.redis,
      points: options.limits.max || Number.MAX_SAFE_INTEGER,
      duration: Math.ceil(options.limits.windowMs / 1000),
      insuranceLimiter: options.insurance,
      keyPrefix: '', // keys come with their own
    });
    options.redis.defineCommand('mayflyAdmit', { numberOfKeys: 3, lua: ADMIT });
    options.redis.defineCommand('mayflyGiveBack', { numberOfKeys: 1, lua: GIVE_BACK });
    options.redis.defineCommand('mayflyFail', { numberOfKeys: 1, lua: FAIL });
    this.#limits = options.limits;
    this.#breaker = options.breaker;
    this.#scripts = options.redis as unknown as Scripts; // the commands that were just defined
  }

  override async consume(key: string, points = 1, claims: Claims = {}): Promise<Admission> {
    const blocked = this.#blocked.get(key);
    const leftMs = blocked ? blocked.until - performance.now() : 0;
    // The oldest entry's end is when the next request can be let in: until then the answer is known.
    if (blocked && leftMs > 0) throw new Admission('redis', this.#limits, [blocked.count, leftMs, 0, 0]);
    if (blocked) this.#blocked.delete(key);
    try {
      return (await super.consume(key, points, claims as Record<string, unknown>)) as Admission;
    } catch (error) {
      if (error instanceof Admission && error.keptBy === 'redis') this.#block(key, error);
      throw error;
    }
  }

  giveBack(key: string, bytes: number): Promise<unknown> {
    return this.#scripts.mayflyGiveBack(key, bytes);
  }

  fail(key: string): Promise<unknown> {
    return this.#scripts.mayflyFail(key, this.#limits.failuresMax, this.#limits.failuresWindowMs);
  }

  #block(key: string, { msBeforeNext, consumedPoints }: Admission) {
    if (this.#blocked.size >= MAX_BLOCKED) this.#blocked.delete(this.#blocked.keys().next().value ?? '');
    this.#blocked.set(key, { until: performance.now() + msBeforeNext, count: consumedPoints });
  }

  // Called by the library in place of its fixed-window script.
  async _upsert(key: string, _points: number, _ms: number, _force: boolean, { quota, failuresKey }: Claims) {
    const { max, windowMs, quotaBytes, failuresMax, failuresWindowMs } = this.#limits;
    return this.#breaker.run(() =>
      this.#scripts.mayflyAdmit(
        ...[key, quota?.key ?? '', failuresKey ?? ''],
        ...[max, windowMs, quota?.bytes ?? 0, quotaBytes, quota?.expireSec ?? 0, failuresMax, failuresWindowMs],
      ),
    );
  }

  // Called by the library with what the script has answered.
  _getRateLimiterRes(_key: string, _points: number, result: [number, number, number, number]): RateLimiterRes {
    return new Admission('redis', this.#limits, result);
  }
}
