import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findMinio, startMinio } from '@mayfly/local-stores/minio';
import { freePort } from '@mayfly/local-stores/ports';
import { startPostgres } from '@mayfly/local-stores/postgres';
import { startRedis } from '@mayfly/local-stores/redis';
import { ALLOCATION, NODE_ARGS } from '@mayfly/shared/run-options';
import { startProgram } from './program.ts';
import type { Target } from './target.ts';

export type Shape = 'all' | 'split';

export type Stores = {
  databaseUrl: string;
  redisUrl: string;
  /** Settings that lead to them. */
  env: Record<string, string>;
  pids: Record<string, number>;
};

const root = resolve(import.meta.dirname, '../..');

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
  const all = await startProcess(stack, 'all', stores.env);
  await untilHealthy(all.url);
  return { name: 'all', url: all.url, processes: { all: all.pid }, stores: stores.pids };
}

/** So many replicas of gateway, files and notes, each gateway with its own two; one janitor for all. */
export async function startSplit(stack: AsyncDisposableStack, stores: Stores, replicas = 1): Promise<Target[]> {
  const migration = spawn(process.execPath, [join(root, 'libs/store/src/migrate.ts')], { env: inherited(stores.env) });
  const [code] = await once(migration, 'exit');
  if (code !== 0) throw new Error('the migration failed');
  const janitor = await startProcess(stack, 'janitor', stores.env);
  const targets: Target[] = [];
  for (let replica = 1; replica <= replicas; replica++) {
    const files = await startProcess(stack, 'files', stores.env);
    const notes = await startProcess(stack, 'notes', stores.env);
    const gateway = await startProcess(stack, 'gateway', { ...stores.env, FILES_URL: files.url, NOTES_URL: notes.url });
    await untilHealthy(gateway.url);
    const processes = { gateway: gateway.pid, files: files.pid, notes: notes.pid, janitor: janitor.pid };
    targets.push({ name: 'split', url: gateway.url, processes, stores: stores.pids });
  }
  return targets;
}

async function startProcess(stack: AsyncDisposableStack, name: string, settings: Record<string, string>) {
  const port = await freePort();
  const entry = join(root, 'services', name, 'src/main.ts');
  const env = { ...inherited(settings), HOST: '127.0.0.1', TRUST_PROXY: '1', PORT: String(port) };
  const { pid } = stack.use(startProgram(process.execPath, [entry], env));
  return { url: `http://127.0.0.1:${port}`, pid };
}

function inherited(settings: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE, BENCH_NODE_OPTIONS = '' } = process.env;
  const options = [...NODE_ARGS, BENCH_NODE_OPTIONS].join(' '); // such as --cpu-prof
  return { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS: options, ...ALLOCATION, ...settings };
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
