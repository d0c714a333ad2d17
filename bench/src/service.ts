import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  migrateTables,
  type Service,
  startSplit as startProcesses,
  startService,
  untilHealthy,
} from '@mayfly/launcher/service';
import { findMinio, startMinio } from '@mayfly/local-stores/minio';
import { startPostgres } from '@mayfly/local-stores/postgres';
import { startRedis } from '@mayfly/local-stores/redis';
import type { Target } from './target.ts';

export type Shape = 'all' | 'split';

export type Stores = {
  databaseUrl: string;
  redisUrl: string;
  /** Settings that lead to them. */
  env: Record<string, string>;
  pids: Record<string, number>;
};

/** Stores of their own below the folder, durable as `npm start` has them. With a bucket, where this machine has MinIO. */
export async function startStores(stack: AsyncDisposableStack, folder: string, hasBucket = false): Promise<Stores> {
  const own = (name: string) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  const postgres = stack.use(await startPostgres({ dataDir: own('postgres') }));
  const redis = stack.use(await startRedis({ dataDir: own('redis') }));
  const pids = { postgres: postgres.pid, redis: redis.pid };
  const env = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, BLOB_DIR: join(folder, 'blobs') };
  const stores = { databaseUrl: postgres.url, redisUrl: redis.url };
  const program = hasBucket ? findMinio() : undefined;
  if (!program) return { ...stores, env, pids };
  const minio = stack.use(await startMinio(program));
  const bucket = { S3_ENDPOINT: minio.url, S3_ACCESS_KEY: minio.accessKey, S3_SECRET_KEY: minio.secretKey };
  return { ...stores, env: { ...env, ...bucket }, pids: { ...pids, minio: minio.pid } };
}

/** Mayfly in one process. Limits are the defaults; the load names many clients, which only TRUST_PROXY lets it do. */
export async function startAll(stack: AsyncDisposableStack, stores: Stores): Promise<Target> {
  const all = await starter(stack, stores)('all');
  await untilHealthy(all);
  return { name: 'all', url: all.url, processes: pidsOf({ all }), stores: stores.pids };
}

/** So many replicas of gateway, files and notes, each gateway with its own two; one janitor for all. */
export async function startSplit(stack: AsyncDisposableStack, stores: Stores, count = 1) {
  await migrateTables(stores.env);
  const { janitor, replicas } = await startProcesses(count, starter(stack, stores));
  for (const { gateway } of replicas) await untilHealthy(gateway);
  return replicas.map((replica) => ({
    name: 'split',
    url: replica.gateway.url,
    filesUrl: replica.files.url,
    processes: pidsOf({ ...replica, janitor }),
    stores: stores.pids,
  }));
}

/** BENCH_NODE_OPTIONS, such as --cpu-prof, reaches every process of the service. */
function starter(stack: AsyncDisposableStack, { env }: Stores) {
  const { BENCH_NODE_OPTIONS: NODE_OPTIONS } = process.env;
  return async (name: string, settings: Record<string, string> = {}) =>
    stack.use(await startService(name, { NODE_OPTIONS, TRUST_PROXY: '1', ...env, ...settings }, { stdout: 'ignore' }));
}

function pidsOf(services: Record<string, Service>): Record<string, number> {
  return Object.fromEntries(Object.entries(services).map(([name, { child }]) => [name, child.pid ?? 0]));
}
