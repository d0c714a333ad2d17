import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedis } from '@mayfly/local-stores/find-redis';
import { onFreePort } from '@mayfly/local-stores/ports';
import { type LocalRedis, startRedis } from '@mayfly/local-stores/redis';
import { startServer } from '@mayfly/local-stores/server-process';
import { openRedis, type Redis } from '@mayfly/shared/redis';
import { freshFolder } from '@mayfly/testing/stores';
import { pino } from 'pino';

const NAME = 'mayfly';

/** A primary, a replica, and Sentinels that take the replica when the primary has been silent for a second. */
export async function startSentinels(count: number) {
  const stack = new AsyncDisposableStack();
  const password = randomBytes(12).toString('hex');
  const servers = [await startRedis({ password }), await startRedis({ password })] as [LocalRedis, LocalRedis];
  for (const server of servers) stack.defer(() => server.stop());
  const [primary, replica] = servers;
  for (const { url } of servers) await call(url, 'CONFIG', 'SET', 'masterauth', password);
  await call(replica.url, 'REPLICAOF', '127.0.0.1', String(primary.port));

  const { path: command } = await findRedis();
  const { path: folder } = stack.use(await freshFolder());
  const ports: number[] = [];
  for (let index = 0; index < count; index++) {
    const { port, server } = await onFreePort(async (port) => {
      const file = join(folder, `${port}.conf`); // Sentinels write what they learn into it
      writeFileSync(file, sentinel({ port, primary: primary.port, password, quorum: Math.floor(count / 2) + 1 }));
      const env = { PATH: process.env.PATH, LC_ALL: 'C' };
      const ready = /Sentinel ID is/;
      return { port, server: await startServer({ name: 'Sentinel', command, args: [file, '--sentinel'], env, ready }) };
    }, undefined);
    ports.push(port);
    stack.defer(() => server.stop([['SIGKILL', 5_000]]));
  }
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const sentinelUrl = `redis://:${password}@127.0.0.1:${ports[0]}`;
  return {
    url: `redis+sentinel://:${password}@${hosts}/${NAME}`,
    primary,
    replica,
    /** Has the Sentinels change over to the other server although the primary is well. */
    changeOver: () => call(sentinelUrl, 'SENTINEL', 'FAILOVER', NAME),
    call,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function sentinel(given: { port: number; primary: number; password: string; quorum: number }): string {
  return [
    'bind 127.0.0.1',
    `port ${given.port}`,
    `requirepass ${given.password}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${given.primary} ${given.quorum}`,
    `sentinel auth-pass ${NAME} ${given.password}`,
    `sentinel sentinel-pass ${given.password}`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 10000`,
    '',
  ].join('\n');
}

async function call(url: string, ...command: [string, ...string[]]): Promise<unknown> {
  const { redis } = openRedis({ REDIS_URL: url, REDIS_TIMEOUT_MS: 5_000 }, 'queue', pino({ level: 'silent' }));
  try {
    return await (redis as Redis).call(...command);
  } finally {
    redis.disconnect();
  }
}
