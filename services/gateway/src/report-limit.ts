import { HttpError } from '@mayfly/shared/errors';
import type { App, GatewayDeps } from './deps.ts';
import type { RequestLimits } from './limits/limits.ts';

const HOUR_SEC = 3_600;
/** Most clients that are remembered without Redis; the one that came first is forgotten for a new one. */
const MAX_KEYS = 10_000;

/** KEYS: the reports of a client in its hour, which begins with the first. Answers how many, and the seconds that are left. */
const COUNT = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return { count, redis.call('TTL', KEYS[1]) }
`;

/** How many reports each client may send in an hour, over all replicas, and without Redis in this process. */
export function limitReports(app: App, requests: RequestLimits, { redis, settings, now = Date.now }: GatewayDeps) {
  const most = settings.REPORTS_PER_CLIENT_MAX;
  if (most === 0) return;
  redis.defineCommand('mayflyCountReport', { numberOfKeys: 1, lua: COUNT });
  const { mayflyCountReport } = redis as unknown as {
    mayflyCountReport(key: string, seconds: number): Promise<[number, number]>;
  };
  const own = new Map<string, { count: number; until: number }>();

  const countOwn = (key: string): [number, number] => {
    const known = own.get(key);
    const hour = known && known.until > now() ? known : { count: 0, until: now() + HOUR_SEC * 1000 };
    if (!known && own.size >= MAX_KEYS) for (const first of own.keys().take(1)) own.delete(first);
    hour.count += 1;
    own.set(key, hour);
    return [hour.count, Math.ceil((hour.until - now()) / 1000)];
  };

  app.addHook('onRequest', async ({ routeOptions, address }) => {
    const { route } = routeOptions.config;
    if (!route?.isOfReports || route.method !== 'POST') return;
    const key = `mayfly:reports:${await requests.keyOf(address)}`;
    // Its own log says when Redis is away.
    const [count, leftSec] = await mayflyCountReport.call(redis, key, HOUR_SEC).catch(() => countOwn(key));
    if (count <= most) return;
    throw new HttpError(429, 'Too many requests', { headers: { 'retry-after': String(Math.max(leftSec, 1)) } });
  });
}
