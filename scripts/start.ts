import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { claimFolder } from '@mayfly/local-stores/claim';
import { findRedis } from '@mayfly/local-stores/find-redis';
import { startPostgres } from '@mayfly/local-stores/postgres';
import { CannotStart } from '@mayfly/local-stores/problem';
import { startRedis } from '@mayfly/local-stores/redis';
import { buildWebApp } from '@mayfly/web/build';
import { say, step } from './progress.ts';
import { startApp } from './start/app.ts';
import { checkFolder, checkPort } from './start/checks.ts';
import { greeting } from './start/greeting.ts';
import { publishStores } from './start/running-stores.ts';
import { stopRequest } from './start/stop-request.ts';

// npm start: Mayfly on one machine, with stores of its own unless the settings name others.

const root = resolve(import.meta.dirname, '..');

const stopped = stopRequest();

async function main() {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const { env } = process;
  const dataDir = resolve(root, env.MAYFLY_DATA_DIR || '.data');
  await using stack = new AsyncDisposableStack();

  checkFolder(dataDir);
  const claim = await claimFolder(dataDir, 'Mayfly');
  stack.defer(() => claim.release());
  const address = await checkPort(env);
  // Before anything is started: it may be missing, and getting it takes a while.
  const redisProgram = env.REDIS_URL || env.REDIS_URL_FILE ? undefined : await findRedis(say, stopped.signal);
  stopped.throwIfRequested();

  const watched: { name: string; exited: Promise<string> }[] = [];
  if (!env.DATABASE_URL && !env.DATABASE_URL_FILE) {
    const remarks: string[] = [];
    const start = () => startPostgres({ dataDir: join(dataDir, 'postgres'), say: (line) => remarks.push(line) });
    const postgres = stack.use(await step('Starting PostgreSQL 18', start, ({ port }) => ` (port ${port})`));
    remarks.forEach(say);
    watched.push({ name: 'PostgreSQL', exited: postgres.exited });
    env.DATABASE_URL = postgres.url;
    stopped.throwIfRequested();
  }
  if (redisProgram) {
    const start = () => startRedis({ dataDir: join(dataDir, 'redis'), program: redisProgram });
    const redis = stack.use(
      await step(`Starting Redis ${redisProgram.version}`, start, ({ port }) => ` (port ${port})`),
    );
    watched.push({ name: 'Redis', exited: redis.exited });
    env.REDIS_URL = redis.url;
    stopped.throwIfRequested();
  }
  if (!env.WEB_DIR) {
    const build = () => buildWebApp(join(root, 'apps/web/dist'));
    env.WEB_DIR = (
      await step('Building the web app', build, ({ isNew }) => (isNew ? '' : ' (nothing has changed)'))
    ).folder;
    stopped.throwIfRequested();
  }
  if (!env.S3_ENDPOINT) env.BLOB_DIR ||= join(dataDir, 'blobs');

  stack.use(publishStores(dataDir, env));
  const app = stack.use(startApp(join(root, 'services/all/src/main.ts'), env));
  claim.serverIs(app.pid);
  watched.push({ name: 'Mayfly', exited: app.exited });
  const ended = Promise.race(watched.map(async ({ name, exited }) => `${name} ${await exited}`));

  say('Starting Mayfly ...'); // its log goes on from here
  await Promise.race([app.healthy(address), stopped.requested, failWith(ended)]);
  if (!stopped.signal.aborted) say(greeting(address, dataDir));
  await Promise.race([stopped.requested, failWith(ended)]);
  say('Stopping ...');
}

async function failWith(ended: Promise<string>): Promise<never> {
  throw new CannotStart(`${await ended}; everything else is stopped.`);
}

try {
  await main();
  say('Stopped.');
  process.exit(0);
} catch (error) {
  // A step that a stop request has cut short fails in its own way, which interests nobody.
  if (!stopped.signal.aborted)
    say(error instanceof CannotStart ? error.message : String((error as Error).stack ?? error));
  else say('Stopped.');
  process.exit(stopped.signal.aborted ? 0 : 1);
}
