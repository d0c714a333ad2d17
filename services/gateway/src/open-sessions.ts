import { HttpError } from '@mayfly/shared/errors';
import { partLimits } from '@mayfly/shared/part-limits';
import type { Redis } from '@mayfly/shared/redis';
import type { App, GatewayDeps } from './deps.ts';
import type { RequestLimits } from './limits/limits.ts';
import { whenClosed } from './when-closed.ts';

/** Most clients that are remembered without Redis; the one that came first is forgotten for a new one. */
const MAX_KEYS = 10_000;
/** A session of one's own may be over any moment. */
const TRY_AGAIN_SEC = 60;

/** KEYS: the sessions of a client. Never below zero, and never a key without an end. */
const END = `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count > 1 then return redis.call('DECR', KEYS[1]) end
return redis.call('DEL', KEYS[1])
`;

type Sessions = { begin(key: string): Promise<boolean>; end(key: string): Promise<void> };

/**
 * How many uploads in parts each client may have open, over all replicas, and without Redis in this process; and what is given back
 * of the bytes that such an upload was charged for. A session that nobody ends counts until its time is over. Decision uploads-in-parts.
 */
export function countSessions(
  app: App,
  requests: RequestLimits,
  { redis, limits, settings, creationGuard }: GatewayDeps,
) {
  const parts = partLimits(limits);
  const most = settings.UPLOAD_SESSIONS_MAX;
  if (!parts) return;
  const sessions = sessionCounter(redis, most, parts.sessionSec);
  const keyOf = async (address: string) => `mayfly:sessions:${await requests.keyOf(address)}`;

  app.addHook('onRequest', async (request, reply) => {
    const { route } = request.routeOptions.config;
    if (!route?.isOfParts) return;
    const { address, beforeAnswer, raw } = request;
    const { 'x-owner-token': ownerToken } = raw.headers;
    if (route.announcedBytes && most > 0) {
      const key = await keyOf(address);
      if (!(await sessions.begin(key))) throw tooMany();
      whenClosed(reply.raw, () => {
        if (reply.raw.headersSent && reply.raw.statusCode >= 400) void sessions.end(key);
      });
    }
    if (!route.isGuarded) return;
    request.beforeAnswer = (status, givenBack) => {
      if (givenBack !== undefined) {
        void requests.credit(address, Number(givenBack));
        if (creationGuard) void requests.creators.credit(String(ownerToken), Number(givenBack));
        if (most > 0) void keyOf(address).then(sessions.end);
      }
      return beforeAnswer?.(status, givenBack);
    };
  });
}

function tooMany() {
  return new HttpError(429, 'Too many requests', { headers: { 'retry-after': String(TRY_AGAIN_SEC) } });
}

function sessionCounter(redis: Redis, most: number, sessionSec: number): Sessions {
  redis.defineCommand('mayflyEndSession', { numberOfKeys: 1, lua: END });
  const { mayflyEndSession: end } = redis as unknown as { mayflyEndSession(key: string): Promise<unknown> };
  const own = new Map<string, number>();

  const endOwn = (key: string) => {
    const count = (own.get(key) ?? 0) - 1;
    if (count > 0) own.set(key, count);
    else own.delete(key);
  };
  const beginOwn = (key: string) => {
    const count = (own.get(key) ?? 0) + 1;
    if (count > most) return false;
    if (count === 1 && own.size >= MAX_KEYS) own.delete(own.keys().next().value ?? '');
    own.set(key, count);
    return true;
  };

  return {
    async begin(key) {
      try {
        const [counted] = (await redis.multi().incr(key).expire(key, sessionSec).exec()) ?? [];
        if (Number(counted?.[1]) <= most) return true;
        await end.call(redis, key);
        return false;
      } catch {
        return beginOwn(key); // its own log says that Redis is away
      }
    },
    async end(key) {
      if (own.has(key)) endOwn(key);
      else await end.call(redis, key).catch(() => {}); // it counts until its time is over
    },
  };
}
