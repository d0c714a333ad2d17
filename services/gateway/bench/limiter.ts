import { freshRedis } from '@mayfly/local-stores/testing';
import { openRedis } from '@mayfly/shared/redis';
import { pino } from 'pino';
import { requestLimits } from '../src/limits/limits.ts';

// node services/gateway/bench/limiter.ts: what one admission costs, beside a PING through the same connection.

const REQUESTS = 60_000;
const AT_ONCE = 64;
const CLIENTS = 1_000;

await using store = await freshRedis();
const logger = pino({ level: 'silent' });
const connection = openRedis({ REDIS_URL: store.url, REDIS_TIMEOUT_MS: 2_000 }, 'commands', logger);
await using _ = connection;
const { redis } = connection;
await new Promise((resolve) => redis.once('ready', resolve));
const settings = {
  RATE_LIMIT_MAX: 1_200,
  RATE_LIMIT_WINDOW_SEC: 60,
  UPLOAD_QUOTA_BYTES: 2 ** 40,
  TOKEN_FAILURES_MAX: 20,
  TOKEN_FAILURES_ITEM_MAX: 1_000,
  TOKEN_FAILURES_WINDOW_SEC: 900,
  TRUST_PROXY: 0,
};
const limits = requestLimits({ redis, settings, logger });
const addressOf = (index: number) => `198.51.${Math.floor(index / 250) % 250}.${index % 250}`;

/** Microseconds that Redis has computed since it started. */
async function redisCpu(): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].map(([, value]) => Number(value));
  return seconds.reduce((sum, value) => sum + value, 0) * 1e6;
}

async function measure(name: string, operation: (index: number) => Promise<unknown>) {
  const [cpu, redisBefore, began] = [process.cpuUsage(), await redisCpu(), performance.now()];
  for (let index = 0; index < REQUESTS; index += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, offset) => operation(index + offset)));
  }
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const perRequest = (microseconds: number) => (microseconds / REQUESTS).toFixed(1);
  console.log(
    `${name}: ${Math.round(REQUESTS / seconds)}/s, ${perRequest(user + system)} us in the gateway, ` +
      `${perRequest((await redisCpu()) - redisBefore)} us in Redis`,
  );
  return REQUESTS / seconds;
}

const request = (index: number) => ({ address: addressOf(index % CLIENTS), bytes: 0, item: undefined });
const ping = await measure('PING', () => redis.ping());
const limit = await measure('limit', (index) => limits.admit(request(index)));
await measure('limit, quota and guessing', async (index) => {
  const ticket = await limits.admit({ ...request(index), bytes: 1, item: 'item' });
  await ticket.refund(); // as the answer does: the next attempt waits for it
});
console.log(`limit / PING: ${(limit / ping).toFixed(2)}`);

for (const full of [600, 1_200]) {
  const address = `203.0.113.${full % 250}`;
  for (let count = 0; count < full; count++) await limits.admit({ address, bytes: 0, item: undefined });
  const bytes = await redis.memory('USAGE', await limits.keyOf(address));
  console.log(`Redis bytes of a client with ${full} requests in its window: ${bytes}`);
}
