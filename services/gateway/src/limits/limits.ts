import type { Config } from '@mayfly/shared/config';
import type { Logger } from '@mayfly/shared/logger';
import type { Redis } from '@mayfly/shared/redis';
import type { limitSettings } from '../settings.ts';
import { type Admission, type Demands, type Limits, UNTIL_MIDNIGHT } from './admission.ts';
import { Attempts } from './attempts.ts';
import { type CreatorQuotas, creatorQuotas } from './creator-quotas.ts';
import { clientOf, networksOf } from './keys/client-address.ts';
import { dailyNames, dateOf, daySecondsLeft, msToMidnight, nameFrom, ofDay } from './keys/daily-names.ts';
import { pseudonym, type SharedKeys, sharedKeys } from './keys/shared-keys.ts';
import { MemoryAdmission } from './memory-admission.ts';
import { breaker } from './redis/breaker.ts';
import { RedisAdmission } from './redis/redis-admission.ts';
import { shardsOf } from './redis/shards.ts';
import { WaitingRoom } from './waiting.ts';

/** How often a gateway asks Redis, beside its requests, whether it is there and which keys count. */
const CHECK_MS = 1_000;
/** When it is worth trying again after one's attempts under way took too long. */
const TRY_AGAIN_MS = 1_000;

type Request = {
  address: string;
  /** Bytes that the request wants to store; 0 when it stores nothing. */
  bytes: number;
  /** The item whose token is checked; undefined where none is. */
  item: string | undefined;
  /** It need not be counted: it has its place already. */
  hasPlace?: boolean;
};

export type Ticket = {
  admission: Admission;
  /** How long this item is locked for this client; 0 when it is not. */
  lockedMs: number;
  /** Until the day's bytes begin anew. */
  msToMidnight: number;
  /** The request failed: its bytes are given back. */
  giveBack(): Promise<void>;
  /**
   * The token was wrong: one more for this client and item. Resolves when it is counted, or cannot be, with 0; or with how long the
   * item is locked, in milliseconds, when others were quicker. Decision guesses-count-at-start.
   */
  fail(): Promise<number>;
  /** It was not: the attempt does not count. */
  refund(): Promise<unknown>;
};

export type RequestLimits = {
  limits: Limits;
  admit(request: Request): Promise<Ticket>;
  keyOf(address: string): Promise<string>;
  /** A random key that all replicas have under this name, for so many seconds. */
  sharedKey: SharedKeys['get'];
  /** Bytes that the client was charged for, and that are not stored after all. */
  credit(address: string, bytes: number): Promise<void>;
  /** The same for whoever was let in to create, beside the client's own. */
  creators: CreatorQuotas;
};

const nothing = async () => {};
const unlocked = async () => 0;

/**
 * Rate limit, quota and guessing: one decision per request, shared by all replicas. Decisions client-address,
 * daily-quota, guesses-count-at-start and limits-kept-in-memory.
 */
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
    itemFailuresMax: settings.TOKEN_FAILURES_ITEM_MAX,
  };
  const health = breaker(redis, (isUp) => {
    if (isUp) logger.info('limits are shared through Redis again');
    else logger.warn('Redis is away: each process limits by itself');
  });
  const memory = new MemoryAdmission(limits);
  const shared = new RedisAdmission({ redis, limits, breaker: health });
  const keys = sharedKeys(redis, health);
  const shardOf = shardsOf(redis);
  const namingAt = dailyNames(keys, Math.max(limits.windowMs, limits.failuresWindowMs));
  const waiting = new WaitingRoom<Admission>();
  const onSettled = (place: string) => waiting.wake(place);
  const attempts = new Attempts({ limits, namingAt, shardOf, shared, memory, logger, now, onSettled });

  const check = () => health.probe(() => Promise.all([keys.check(), shared.stayAlive()]));
  const timer = setInterval(check, CHECK_MS).unref();
  redis.on('ready', check);
  redis.once('end', () => clearInterval(timer));

  async function nameOfDay(prefix: string, who: string, time: number) {
    const expireSec = daySecondsLeft(time);
    const day = dateOf(time);
    const name = pseudonym(await keys.get(`mayfly:quota-key:${day}`, expireSec), who);
    return { key: `${prefix}:${day}:${shardOf(who)}${name}`, expireSec };
  }
  const quotaOf = async (client: string, bytes: number, time: number) => ({
    ...(await nameOfDay('mayfly:quota', client, time)),
    bytes,
  });
  const creators = creatorQuotas({
    redis,
    breaker: health,
    dayOf: (creator) => nameOfDay('mayfly:creator', creator, now()),
    giveBackShared: (key, bytes) => shared.giveBack(key, bytes),
  });

  return {
    limits,
    sharedKey: keys.get,
    creators,
    async keyOf(address) {
      const naming = await namingAt(now());
      const client = clientOf(address);
      return ofDay(nameFrom(`mayfly:rate:${shardOf(client)}`, naming.pseudonymOf(client)), naming.isSwitched);
    },

    async credit(address, bytes) {
      if (bytes === 0 || limits.quotaBytes === 0) return;
      const { key } = await quotaOf(clientOf(address), bytes, now());
      await shared.giveBack(key, bytes).catch(() => memory.giveBack(key, bytes));
    },

    async admit({ address, bytes, item, hasPlace = false }) {
      const time = now();
      const isGuarded = item !== undefined && limits.failuresMax > 0;
      const networks = networksOf(address, isGuarded ? undefined : 1);
      const [client] = networks;
      const quota = bytes > 0 && limits.quotaBytes > 0 ? await quotaOf(client, bytes, time) : undefined;
      const found = namingAt(time);
      const naming = found instanceof Promise ? await found : found;
      const ofClient = naming.pseudonymOf(client);
      const attempt = isGuarded ? attempts.begin({ networks, item, ofClient, naming }) : undefined;
      const demands: Demands = {
        ...(hasPlace ? {} : { rate: nameFrom(`mayfly:rate:${shardOf(client)}`, ofClient) }),
        isSwitched: naming.isSwitched,
        ...(quota ? { quota } : {}),
        ...(attempt ? { guard: attempt.guard } : {}),
      };
      let admission = await decide(demands);
      if (admission.mustWait) admission = await whenSettled(admission, demands, attempt?.place);
      const isAdmitted =
        !admission.isLimited && !admission.isQuotaExceeded && admission.lockedMs === 0 && !admission.mustWait;
      if (attempt && !isAdmitted) attempts.drop(attempt);
      const lockedMs = admission.lockedMs === UNTIL_MIDNIGHT ? msToMidnight(time) : admission.lockedMs;
      return {
        admission,
        lockedMs: admission.mustWait ? TRY_AGAIN_MS : lockedMs,
        msToMidnight: msToMidnight(time),
        giveBack: quota && isAdmitted ? () => giveBack(quota, admission) : nothing,
        fail: attempt && isAdmitted ? () => attempts.settle(attempt, admission, true) : unlocked,
        refund: attempt && isAdmitted ? () => attempts.settle(attempt, admission, false) : unlocked,
      };
    },
  };

  async function giveBack({ key, bytes }: NonNullable<Demands['quota']>, { keptBy }: Admission) {
    try {
      await (keptBy === 'redis' ? shared : memory).giveBack(key, bytes);
    } catch (err) {
      logger.debug({ err }, 'bytes were not given back'); // they count until midnight
    }
  }

  /** A request whose attempt depends on those that are under way waits for them, with its place in the window. */
  async function whenSettled(first: Admission, { rate: _, ...others }: Demands, place = ''): Promise<Admission> {
    const later = await waiting.wait(place, async () => {
      const admission = await decide(others);
      return admission.mustWait ? undefined : admission;
    });
    return later ? later.at(first.consumedPoints, first.msBeforeNext, limits) : first;
  }

  /** All replicas together, or without Redis each by itself. */
  async function decide(demands: Demands): Promise<Admission> {
    try {
      return await shared.decide(demands);
    } catch {
      return memory.decide(demands); // the breaker has said that Redis is away
    }
  }
}
