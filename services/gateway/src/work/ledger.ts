import type { Redis } from '@mayfly/shared/redis';
import { shardIn } from '../limits/redis/shards.ts';
import { MOST_BOUGHT } from './prices.ts';

/** Challenges that a client may ask for in a minute. */
const MOST_ASKED = 30;
const ASKED_MS = 60_000;
/** Most of each kind that is remembered without Redis; the first is forgotten for a new one. */
const MAX_KEYS = 10_000;

/** How many solutions a client has bought in its window, or how long it has to wait to be offered another one. */
export type Account = { bought: number; waitMs: number };

/** A solution at hand: `client` is the client's name in the limits, `requests` what it is worth. */
export type Use = { client: string; id: string; requests: number; keptMs: number; takenUntil: number };

/** The purchases of the window, oldest first, as many as are left; and the time. */
const BOUGHT = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function bought(key, window)
  while tonumber(redis.call('LINDEX', key, 0) or now) <= now - window do redis.call('LPOP', key) end
  return redis.call('LLEN', key)
end
`;

/** KEYS: 1 challenges asked for, 2 purchases. ARGV: window. Answers what was bought, and the wait. */
const ASK = `
${BOUGHT}
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ${ASKED_MS}) end
if tonumber(redis.call('GET', KEYS[1])) > ${MOST_ASKED} then return {0, redis.call('PTTL', KEYS[1])} end
local count = bought(KEYS[2], ARGV[1])
if count >= ${MOST_BOUGHT} then return {count, redis.call('LINDEX', KEYS[2], 0) + ARGV[1] - now} end
return {count, 0}
`;

/**
 * One request on a solution. Answers 1 when it has its place, 0 when not, -1 when the solution is new and must be checked. KEYS: 1 how
 * often it was used, 2 purchases. ARGV: 1 whether it was checked, 2 how many requests it is worth, 3 how long that is remembered,
 * 4 until how many purchases it is taken, 5 window.
 */
const USE = `
${BOUGHT}
local used = redis.call('GET', KEYS[1])
if not used then
  if ARGV[1] == '0' then return -1 end
  if bought(KEYS[2], ARGV[5]) >= tonumber(ARGV[4]) then return 0 end
  redis.call('RPUSH', KEYS[2], now)
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
  redis.call('SET', KEYS[1], 0, 'PX', ARGV[3])
end
if tonumber(used or 0) >= tonumber(ARGV[2]) then return 0 end
redis.call('INCR', KEYS[1])
return 1
`;

type Scripts = {
  mayflyAskWork(asked: string, bought: string, windowMs: number): Promise<[number, number]>;
  mayflyUseWork(used: string, bought: string, ...args: number[]): Promise<number>;
};

/** Who has asked, bought and used how much, over all replicas; without Redis in this process. All names of a client are in one place. */
export function workLedger(redis: Redis, windowMs: number, now: () => number) {
  redis.defineCommand('mayflyAskWork', { numberOfKeys: 2, lua: ASK });
  redis.defineCommand('mayflyUseWork', { numberOfKeys: 2, lua: USE });
  const scripts = redis as unknown as Scripts; // the commands that were just defined
  const own = ownLedger(windowMs, now);
  const refused = new Map<string, number>();
  const bought = (client: string) => `mayfly:work:bought:${client}`;

  return {
    /** A challenge is asked for. Whoever has to wait is told so without Redis until then. */
    async ask(client: string): Promise<Account> {
      const leftMs = (refused.get(client) ?? 0) - now();
      if (leftMs > 0) return { bought: 0, waitMs: leftMs };
      const account = await scripts.mayflyAskWork(`mayfly:work:asked:${client}`, bought(client), windowMs).then(
        ([count, waitMs]) => ({ bought: count, waitMs }),
        () => own.ask(client), // Redis's own log says that it is away
      );
      if (account.waitMs > 0) remember(refused, client, now() + account.waitMs);
      else refused.delete(client);
      return account;
    },
    /** A request with a solution: whether it has its place; undefined when the solution is new and was not checked. */
    use(given: Use, isChecked: boolean): Promise<boolean | undefined> {
      const { client, id, requests, keptMs, takenUntil } = given;
      const used = `mayfly:work:used:${shardIn(client)}${id}`;
      return scripts
        .mayflyUseWork(used, bought(client), isChecked ? 1 : 0, requests, keptMs, takenUntil, windowMs)
        .then((answer) => (answer < 0 ? undefined : answer === 1))
        .catch(() => own.use(given, isChecked));
    },
  };
}

/** The same in this process alone. */
function ownLedger(windowMs: number, now: () => number) {
  const asked = new Map<string, { count: number; until: number }>();
  const purchases = new Map<string, number[]>();
  const used = new Map<string, number>();
  const boughtBy = (client: string) => (purchases.get(client) ?? []).filter((time) => time > now() - windowMs);

  return {
    ask(client: string): Account {
      const known = asked.get(client);
      const minute = known && known.until > now() ? known : { count: 0, until: now() + ASKED_MS };
      minute.count += 1;
      remember(asked, client, minute);
      if (minute.count > MOST_ASKED) return { bought: 0, waitMs: minute.until - now() };
      const times = boughtBy(client);
      const isSoldOut = times.length >= MOST_BOUGHT;
      return { bought: times.length, waitMs: isSoldOut ? (times[0] ?? 0) + windowMs - now() : 0 };
    },
    use({ client, id, requests, takenUntil }: Use, isChecked: boolean): boolean | undefined {
      const count = used.get(id);
      if (count === undefined) {
        if (!isChecked) return undefined;
        const times = boughtBy(client);
        if (times.length >= takenUntil) return false;
        remember(purchases, client, [...times, now()]);
      }
      if ((count ?? 0) >= requests) return false;
      remember(used, id, (count ?? 0) + 1);
      return true;
    },
  };
}

function remember<T>(map: Map<string, T>, key: string, value: T) {
  if (!map.has(key) && map.size >= MAX_KEYS) for (const first of map.keys().take(1)) map.delete(first);
  map.set(key, value);
}
