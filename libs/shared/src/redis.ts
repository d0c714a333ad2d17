import { Cluster, Redis } from 'ioredis';
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
  const address = parseRedisAddress(config.REDIS_URL);
  if (!address) throw new Error('REDIS_URL is no address of Redis');
  const redis = connect(address, optionsFor(config, purpose));
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

function optionsFor({ REDIS_TIMEOUT_MS }: { REDIS_TIMEOUT_MS: number }, purpose: 'commands' | 'queue') {
  return {
    connectTimeout: purpose === 'commands' ? 500 : 5_000,
    socketTimeout: Math.max(SILENCE_MS[purpose], REDIS_TIMEOUT_MS),
    retryStrategy: (attempt: number) => Math.min(attempt * 100, 2_000),
    // The server has become a replica: its name leads to another one by now.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
    ...(purpose === 'commands'
      ? {
          commandTimeout: REDIS_TIMEOUT_MS,
          maxRetriesPerRequest: 0,
          enableOfflineQueue: false,
          enableAutoPipelining: true, // commands of one turn of the event loop in one write: a third of Redis's CPU
        }
      : { maxRetriesPerRequest: null }),
  };
}

/** How often the nodes of a cluster are asked who has which slots, beside what they say by themselves. */
const LOOK_AT_CLUSTER_MS = 5_000;

/** A cluster has the same commands: `isCluster` says that all keys of a command, or of a script, must have one hash tag. */
function connect(
  address: NonNullable<ReturnType<typeof parseRedisAddress>>,
  options: ReturnType<typeof optionsFor>,
): Redis {
  if ('url' in address) return new Redis(address.url, options);
  if (!('nodes' in address)) return new Redis({ ...options, ...address });
  // Scripts travel alone: only so a node that has become a primary is told one that it does not know.
  const { retryStrategy, ...ofNodes } = options;
  const cluster = new Cluster(address.nodes, {
    clusterRetryStrategy: retryStrategy,
    enableOfflineQueue: options.maxRetriesPerRequest === null, // of the queue
    slotsRefreshInterval: LOOK_AT_CLUSTER_MS,
    dnsLookup: (host, callback) => callback(null, host), // certificates are for names
    redisOptions: { ...ofNodes, ...address.redisOptions },
  });
  return cluster as unknown as Redis;
}
