import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@mayfly/local-stores/ports';
import { startPostgres } from '@mayfly/local-stores/postgres';
import { startRedis } from '@mayfly/local-stores/redis';
import { startProgram } from './program.ts';
import type { Target } from './target.ts';

export type Shape = 'all' | 'split';
export type RunningService = Target & { databaseUrl: string; redisUrl: string };

/** As `npm start` and the image run the service. Decision 66. */
const NODE_OPTIONS = ['--max-semi-space-size=8'];
const root = resolve(import.meta.dirname, '../..');

/**
 * Starts Mayfly on stores of its own below the folder, durable as `npm start` has them. Limits are the defaults; the
 * load names many clients, which only TRUST_PROXY lets it do. `split` keeps its blobs in the folder, too.
 */
export async function startService(stack: AsyncDisposableStack, shape: Shape, folder: string): Promise<RunningService> {
  const postgres = stack.use(await startPostgres({ dataDir: join(folder, 'postgres') }));
  const redis = stack.use(await startRedis({ dataDir: join(folder, 'redis') }));
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, // as npm start sets it
    NODE_OPTIONS: [...NODE_OPTIONS, process.env.BENCH_NODE_OPTIONS ?? ''].join(' '), // such as --cpu-prof
    HOST: '127.0.0.1',
    TRUST_PROXY: '1',
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    BLOB_DIR: join(folder, 'blobs'),
  };
  const processes: Record<string, number> = {};
  const start = async (name: string, extra: Record<string, string> = {}) => {
    const port = await freePort();
    const entry = join(root, 'services', name, 'src/main.ts');
    processes[name] = stack.use(
      startProgram(process.execPath, [entry], {
        ...env,
        ...extra,
        PORT: String(port),
      }),
    ).pid;
    return `http://127.0.0.1:${port}`;
  };

  let url: string;
  if (shape === 'all') url = await start('all');
  else {
    const [code] = await once(spawn(process.execPath, [join(root, 'libs/store/src/migrate.ts')], { env }), 'exit');
    if (code !== 0) throw new Error('the migration failed');
    await start('janitor');
    url = await start('gateway', { FILES_URL: await start('files'), NOTES_URL: await start('notes') });
  }
  await untilHealthy(url);
  const stores = { postgres: postgres.pid, redis: redis.pid };
  return { name: shape, url, processes, stores, databaseUrl: postgres.url, redisUrl: redis.url };
}

async function untilHealthy(url: string) {
  for (let tries = 0; tries < 600; tries++) {
    const isUp = await fetch(`${url}/api/health`).then(
      (answer) => answer.ok,
      () => false, // not listening yet
    );
    if (isUp) return;
    await sleep(100);
  }
  throw new Error(`the service at ${url} did not become healthy`);
}
