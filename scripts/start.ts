import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startService, untilHealthy } from '@mayfly/launcher/service';
import { findRedis } from '@mayfly/local-stores/find-redis';
import { ownFolder } from '@mayfly/local-stores/own-folder';
import { startPostgres } from '@mayfly/local-stores/postgres';
import { CannotStart } from '@mayfly/local-stores/problem';
import { startRedis } from '@mayfly/local-stores/redis';
import { startWatchdog } from '@mayfly/local-stores/watchdog';
import { drainSettings } from '@mayfly/shared/settings';
import { say, step } from './progress.ts';
import { checkFolder, checkPort } from './start/checks.ts';
import { greeting } from './start/greeting.ts';
import { keepRunning } from './start/keep-running.ts';
import { parentFromNpm, shedFirstLoad } from './start/lean.ts';
import { LOOPBACK, reach } from './start/reach.ts';
import { diskOf, openReserve } from './start/reserve.ts';
import { publishStores } from './start/running-stores.ts';
import { stopRequest } from './start/stop-request.ts';
import { buildInChild } from './start/web-app.ts';

// npm start: Mayfly on one machine, with stores of its own unless the settings name others.

const root = resolve(import.meta.dirname, '..');

/** Of the disk that they share with the payloads, contents of notes may take so much. */
const NOTES_SHARE = 0.05;
const REQUESTS_SHARE = 0.01;
const LOOK_AT_DISK_MS = 2_000;
/** With a full disk it has to run, too. */
const UNWELL_MS = 5_000;
/** Longer than the service lets running transfers take. */
const drainMs = ({ DRAIN_MS, DRAIN_GRACE_MS }: NodeJS.ProcessEnv) =>
  (Number(DRAIN_MS) || 0) + Number(DRAIN_GRACE_MS || drainSettings.DRAIN_GRACE_MS.fallback) + 5_000;

shedFirstLoad();
const stopped = stopRequest(parentFromNpm());

async function main() {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const { env } = process;
  const dataDir = resolve(root, env.MAYFLY_DATA_DIR || '.data');
  await using stack = new AsyncDisposableStack();

  checkFolder(dataDir);
  const reserve = openReserve(dataDir);
  if (reserve.releaseAll()) say('The disk is full: the start uses the space held in reserve.');
  const owned = await ownFolder(dataDir, 'Mayfly');
  stack.defer(() => owned.release());
  env.HOST ||= LOOPBACK; // whoever tries it out has not decided to serve others
  env.PORT ||= '3000';
  const address = await checkPort(env.HOST, Number(env.PORT));
  say(reach(env.HOST));
  // Before anything is started: it may be missing, and getting it takes a while.
  const redisProgram = env.REDIS_URL || env.REDIS_URL_FILE ? undefined : await findRedis(say, stopped.signal);
  stopped.throwIfRequested();

  const building = new AbortController();
  stack.defer(() => building.abort());
  const signal = AbortSignal.any([stopped.signal, building.signal]);
  // Beside the stores, which it does not need.
  const built = env.WEB_DIR ? undefined : buildInChild(fileURLToPath(import.meta.resolve('@mayfly/web/build')), signal);
  built?.catch(() => {}); // a store that cannot be started is told first

  if (!env.DATABASE_URL && !env.DATABASE_URL_FILE) {
    const remarks: string[] = [];
    const start = (port?: number) =>
      startPostgres({ dataDir: join(dataDir, 'postgres'), port, say: (line) => remarks.push(line) });
    const postgres = await step(
      'Starting PostgreSQL 18',
      () => start(),
      ({ port }) => ` (port ${port})`,
    );
    remarks.forEach(say);
    stack.use(
      keepRunning('PostgreSQL', postgres, ({ port }) => {
        reserve.releaseAll();
        return start(port);
      }),
    );
    env.DATABASE_URL = postgres.url;
    env.NOTES_MAX_BYTES ||= String(Math.floor(diskOf(dataDir).size * NOTES_SHARE));
    env.REQUESTS_STORAGE_MAX_BYTES ||= String(Math.floor(diskOf(dataDir).size * REQUESTS_SHARE));
    const timer = setInterval(() => {
      if (reserve.adjust()) say('The disk is full: PostgreSQL gets the space held in reserve.');
    }, LOOK_AT_DISK_MS);
    stack.defer(() => clearInterval(timer));
    stopped.throwIfRequested();
  }
  if (redisProgram) {
    const start = (port?: number, password?: string) =>
      startRedis({ dataDir: join(dataDir, 'redis'), program: redisProgram, port, password });
    const redis = await step(
      `Starting Redis ${redisProgram.version}`,
      () => start(),
      ({ port }) => ` (port ${port})`,
    );
    const { password } = new URL(redis.url);
    stack.use(keepRunning('Redis', redis, ({ port }) => start(port, password)));
    env.REDIS_URL = redis.url;
    stopped.throwIfRequested();
  }
  if (built) {
    const webApp = await step(
      'Building the web app',
      () => built,
      ({ isNew }) => (isNew ? '' : ' (nothing has changed)'),
    );
    env.WEB_DIR = webApp.folder;
    stopped.throwIfRequested();
  }
  if (!env.S3_ENDPOINT) env.BLOB_DIR ||= join(dataDir, 'blobs');

  stack.use(publishStores(dataDir, env));
  const app = await startService('all', env, { url: address, stdout: 'inherit', stopMs: drainMs(env) });
  const pid = app.child.pid ?? 0; // without a number there is an error event, and `exited` tells
  const watchdog = startWatchdog(pid);
  stack.defer(() => watchdog.dismiss());
  stack.use(app);
  owned.serverIs(pid);
  const ended = app.exited.then((how) => `Mayfly ${how}`);

  say('Starting Mayfly ...'); // its log goes on from here
  const down = await Promise.race([untilHealthy(app, UNWELL_MS), stopped.requested, failWith(ended)]);
  if (down?.length) say(`Not everything works yet: ${down.join(', ')} (see ${address}/api/health).`);
  if (!stopped.signal.aborted) say(greeting(address, env.HOST, dataDir));
  // From here on this process only waits. Decision one-waiting-process.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
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
