import { Redis } from 'ioredis';
import type { Logger } from './logger.ts';
import { parseRedisAddress } from './redis-address.ts';

export type { Redis };

/** A connection that closes with its scope. Faults are logged, once per change, and healed by ioredis. */
export type RedisConnection = { redis: Redis } & AsyncDisposable;

/**
 * A connection on which something is asked and nothing comes back for so long is dropped, and a new one made: the server may
 * have gone without a word. BullMQ's workers ask for what may take 10 s to come. Decision silent-redis.
 */
const SILENCE_MS = { commands: 2_000, queue: 12_000 };

/**
 * `commands` fails fast (REDIS_TIMEOUT_MS, no queue), so that a hung Redis costs a request next to nothing. `queue` is for BullMQ,
 * whose workers block on the connection and wait for Redis as long as it takes.
 */
export function openRedis(
  config: { REDIS_URL: string; REDIS_TIMEOUT_MS: number },
  purpose: 'commands' | 'queue',
  logger: Logger,
): RedisConnection {
  const options = {
    connectTimeout: purpose === 'commands' ? 500 : 5_000,
    socketTimeout: Math.max(SILENCE_MS[purpose], config.REDIS_TIMEOUT_MS),
    retryStrategy: (attempt: number) => Math.min(attempt * 100, 2_000),
    // The server has become a replica: its name leads to another one by now.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
    ...(purpose === 'commands'
      ? {
          commandTimeout: config.REDIS_TIMEOUT_MS,
          maxRetriesPerRequest: 0,
          enableOfflineQueue: false,
          enableAutoPipelining: true, // commands of one turn of the event loop in one write: a third of Redis's CPU
        }
      : { maxRetriesPerRequest: null }),
  };
  const address = parseRedisAddress(config.REDIS_URL);
  if (!address) throw new Error('REDIS_URL is no address of Redis');
  const redis = 'url' in address ? new Redis(address.url, options) : new Redis({ ...options, ...address });
  let healthy = true;
  redis.on('ready', () => {
    if (!healthy) logger.info({ purpose }, 'redis is back');
    healthy = true;
  });
  redis.on('error', (error: NodeJS.ErrnoException) => {
    if (healthy) logger.warn({ purpose, code: error.code }, 'redis is away');
    healthy = false;
  });
  return {
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
    },
  };
}
