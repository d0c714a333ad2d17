import type { Config } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import type { limitSettings } from '@mayfly/shared/settings';
import { Admission, type Limits } from './admission.ts';
import { breaker } from './breaker.ts';
import { clientOf } from './client-address.ts';
import { MemoryAdmission } from './memory-admission.ts';
import { RedisAdmission } from './redis-admission.ts';
import { pseudonym, sharedKeys } from './shared-keys.ts';

const DAY_MS = 86_400_000;
/** A day's key and counts outlive their day by this much, for what is given back after midnight. */
const GRACE_SEC = 300;
const LIMITER_KEY = 'mayfly:limiter-key';

type Request = {
  address: string;
  /** Bytes that the request wants to store; 0 when it stores nothing. */
  bytes: number;
  /** The item whose token is checked; undefined where none is. */
  item: string | undefined;
};

export type Ticket = {
  admission: Admission;
  isLimited: boolean;
  /** Until the day's bytes begin anew. */
  msToMidnight: number;
  /** The request failed: its bytes are given back. */
  giveBack(): Promise<void>;
  /** The token was wrong: one more for this client and item. Decision 15. */
  fail(): Promise<void>;
};

export type RequestLimits = {
  limits: Limits;
  admit(request: Request): Promise<Ticket>;
  keyOf(address: string): Promise<string>;
};

/** Rate limit, quota and guessing: one decision per request, shared by all replicas. Decisions 12, 13 and 15. */
export function requestLimits(options: {
  redis: Redis;
  settings: Config<typeof limitSettings>;
  logger: Logger;
  now?: () => number;
}): RequestLimits {
  const { redis, settings, logger, now = Date.now } = options;
  const limits: Limits = {
    max: settings.RATE_LIMIT_MAX,
    windowMs: settings.RATE_LIMIT_WINDOW_SEC * 1000,
    quotaBytes: settings.UPLOAD_QUOTA_BYTES,
    failuresMax: settings.TOKEN_FAILURES_MAX,
    failuresWindowMs: settings.TOKEN_FAILURES_WINDOW_SEC * 1000,
  };
  const health = breaker(redis, (isUp) => {
    if (isUp) logger.info('limits are shared through Redis again');
    else logger.warn('Redis is away: each process limits by itself');
  });
  const memory = new MemoryAdmission(limits);
  const shared = new RedisAdmission({ redis, limits, breaker: health, insurance: memory });
  const keys = sharedKeys(redis, health);
  let today = '';

  /** The key of the UTC day; yesterday's is forgotten. */
  const quotaKeyName = (time: number) => {
    const name = `mayfly:quota-key:${new Date(time).toISOString().slice(0, 10)}`;
    if (today && today !== name) keys.forget(today);
    today = name;
    return name;
  };

  async function quotaOf(client: string, bytes: number, time: number) {
    const expireSec = Math.ceil((DAY_MS - (time % DAY_MS)) / 1000) + GRACE_SEC;
    const name = quotaKeyName(time);
    const key = pseudonym(await keys.get(name, expireSec), client);
    return { key: `${name.replace('-key', '')}:${key}`, bytes, expireSec };
  }

  const keyOf = async (client: string) => `mayfly:rate:${pseudonym(await keys.get(LIMITER_KEY), client)}`;

  return {
    limits,
    keyOf: (address) => keyOf(clientOf(address)),

    async admit({ address, bytes, item }) {
      const client = clientOf(address);
      const time = now();
      const quota = bytes > 0 && limits.quotaBytes > 0 ? await quotaOf(client, bytes, time) : undefined;
      const isGuarded = item !== undefined && limits.failuresMax > 0;
      const failuresKey = isGuarded
        ? `mayfly:failures:${pseudonym(await keys.get(LIMITER_KEY), client, item)}`
        : undefined;
      const claims = { ...(quota ? { quota } : {}), ...(failuresKey ? { failuresKey } : {}) };
      const { admission, isLimited } = await consume(await keyOf(client), claims);
      const isKept = quota && !isLimited && !admission.isQuotaExceeded && admission.lockedMs === 0;
      return {
        admission,
        isLimited,
        msToMidnight: DAY_MS - (time % DAY_MS),
        async giveBack() {
          if (isKept) await settle(() => where(admission).giveBack(quota.key, quota.bytes));
        },
        async fail() {
          if (failuresKey) await settle(() => where(admission).fail(failuresKey));
        },
      };
    },
  };

  async function consume(key: string, claims: Parameters<RedisAdmission['consume']>[2]) {
    try {
      return { admission: await shared.consume(key, 1, claims), isLimited: false };
    } catch (refusal) {
      if (refusal instanceof Admission) return { admission: refusal, isLimited: true };
      throw refusal;
    }
  }

  function where({ keptBy }: Admission): RedisAdmission | MemoryAdmission {
    return keptBy === 'redis' ? shared : memory;
  }

  async function settle(step: () => unknown) {
    try {
      await step();
    } catch (err) {
      // Best effort: bytes that are not given back count until midnight; a wrong token that is not noted was still refused.
      logger.debug({ err }, 'a count was not settled');
    }
  }
}
