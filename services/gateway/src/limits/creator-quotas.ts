import { createHash } from 'node:crypto';
import type { Redis } from '@mayfly/shared/redis';
import type { Breaker } from './redis/breaker.ts';

/** Most that is remembered without Redis; what came first is forgotten for something new. */
const MAX_KEYS = 10_000;

/** KEYS: the day's bytes. ARGV: how many more, most, seconds. Answers whether they are too many; then nothing is charged. */
const CHARGE = `
if tonumber(redis.call('GET', KEYS[1]) or '0') + ARGV[1] > tonumber(ARGV[2]) then return 1 end
redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 0
`;

/** Whoever was let in to create: by a text that is the same each time, and with the bytes of a day (0: no limit). */
export type Creator = { name: string; quotaBytes: number };

type Charge = {
  isExceeded: boolean;
  keptBy: 'redis' | 'memory';
  /** The request failed. Asked twice it gives back once. */
  giveBack(): Promise<void>;
};

export type CreatorQuotas = {
  /** `session`: what begins lasts so long, and who ends it with this token learns which bytes were not needed. */
  charge(creator: Creator, bytes: number, session?: { ownerToken: string; seconds: number }): Promise<Charge>;
  /** Bytes of a session that are not stored after all. */
  credit(ownerToken: string, bytes: number): Promise<void>;
};

type Day = { key: string; expireSec: number };

/**
 * The bytes of a day of whoever creates, wherever the requests come from, over all replicas, and without Redis in this process.
 * Decision quota-of-a-creator.
 */
export function creatorQuotas(options: {
  redis: Redis;
  breaker: Breaker;
  /** The name under which the day's bytes are counted, which tells nothing. */
  dayOf: (creator: string) => Promise<Day>;
  giveBackShared: (key: string, bytes: number) => Promise<unknown>;
}): CreatorQuotas {
  const { redis, breaker, dayOf, giveBackShared } = options;
  redis.defineCommand('mayflyChargeCreator', { numberOfKeys: 1, lua: CHARGE });
  const { mayflyChargeCreator } = redis as unknown as {
    mayflyChargeCreator(key: string, bytes: number, most: number, expireSec: number): Promise<number>;
  };
  const ownBytes = new Map<string, number>();
  const ownSessions = new Map<string, string>();

  const chargeOwn = (key: string, bytes: number, most: number) => {
    const used = (ownBytes.get(key) ?? 0) + bytes;
    if (used > most) return true;
    remember(ownBytes, key, used);
    return false;
  };
  const giveBackOwn = (key: string, bytes: number) => ownBytes.set(key, Math.max((ownBytes.get(key) ?? 0) - bytes, 0));

  async function chargeShared(day: Day, bytes: number, most: number, session?: { name: string; seconds: number }) {
    const isExceeded = (await mayflyChargeCreator.call(redis, day.key, bytes, most, day.expireSec)) === 1;
    if (session && !isExceeded) await redis.set(session.name, day.key, 'EX', session.seconds);
    return isExceeded;
  }

  return {
    async charge({ name, quotaBytes: most }, bytes, session) {
      if (most === 0 || bytes === 0) return { isExceeded: false, keptBy: 'redis', giveBack: async () => {} };
      const day = await dayOf(name);
      const named = session && { name: sessionName(session.ownerToken), seconds: session.seconds };
      let keptBy: Charge['keptBy'] = 'redis';
      const isExceeded = await breaker
        .run(() => chargeShared(day, bytes, most, named))
        .catch(() => {
          keptBy = 'memory'; // the breaker says that Redis is away
          if (named) remember(ownSessions, named.name, day.key);
          return chargeOwn(day.key, bytes, most);
        });
      let isGivenBack = isExceeded;
      return {
        isExceeded,
        keptBy,
        async giveBack() {
          if (isGivenBack) return;
          isGivenBack = true;
          if (keptBy === 'memory') giveBackOwn(day.key, bytes);
          else await giveBackShared(day.key, bytes).catch(() => {}); // they count until midnight
        },
      };
    },

    async credit(ownerToken, bytes) {
      if (bytes === 0) return;
      const name = sessionName(ownerToken);
      const own = ownSessions.get(name);
      if (own !== undefined) giveBackOwn(own, bytes);
      else await giveBackTo(name, bytes).catch(() => {}); // they count until midnight
    },
  };

  async function giveBackTo(name: string, bytes: number) {
    const key = await redis.get(name);
    if (key !== null) await giveBackShared(key, bytes);
  }
}

/** A hash that no other place has of this token, so that nobody finds by it who began an upload. */
const sessionName = (ownerToken: string) =>
  `mayfly:charged:${createHash('sha256').update(`charged:${ownerToken}`).digest('base64url')}`;

function remember<T>(map: Map<string, T>, key: string, value: T) {
  if (!map.has(key) && map.size >= MAX_KEYS) for (const first of map.keys().take(1)) map.delete(first);
  map.set(key, value);
}
