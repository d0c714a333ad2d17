import { startPostgres } from '@mayfly/local-stores/postgres';
import { startRedis } from '@mayfly/local-stores/redis';
import { migrate } from '@mayfly/store/postgres/database';
import { distribute } from '@mayfly/testing/citus';
import { freshDatabase } from '@mayfly/testing/stores';
import { buildWebApp } from '@mayfly/web/build';
import { startS3 } from './s3.ts';

type Started = AsyncDisposable & { url: string; about: string };

/** Stores as processes of this machine: what it has, or what comes with the dependencies. */
const PROCESSES: Record<string, () => Promise<Started>> = {
  PostgreSQL: async () => {
    const store = await startPostgres({ maxConnections: 200 });
    return { ...store, about: `18 on port ${store.port}, started for the tests` };
  },
  Redis: async () => {
    const store = await startRedis();
    return { ...store, about: `${store.version} on port ${store.port}, started for the tests` };
  },
  S3: startS3,
};

const VARIABLES: Record<string, string> = {
  PostgreSQL: 'TEST_DATABASE_URL',
  Redis: 'TEST_REDIS_URL',
  S3: 'TEST_S3_URL',
};

/** Loaded only when asked for: it needs an engine. */
async function containers(): Promise<typeof PROCESSES> {
  const { containerMinio, containerPostgres, containerRedis } = await import('./containers.ts');
  return { PostgreSQL: containerPostgres, Redis: containerRedis, S3: containerMinio };
}

/**
 * Starts the stores that TEST_DATABASE_URL, TEST_REDIS_URL and TEST_S3_URL do not name, for all tests of a run: as processes, or
 * with TEST_STORES=containers in containers. Prints which way it went. Makes a database with the service's tables, and builds the web app
 * unless it is built.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const { env } = process;
  // npm test was killed: nobody waits for the result. The stores' watchdogs clean up.
  process.once('disconnect', () => process.exit(1));
  process.channel?.unref(); // listening alone must not keep vitest alive
  const ways = ['', 'processes', 'containers'];
  if (!ways.includes(env.TEST_STORES ?? '')) throw new Error('TEST_STORES must be processes or containers.');
  const start = env.TEST_STORES === 'containers' ? await containers() : PROCESSES;
  if (env.TEST_CITUS_URL) env.TEST_DATABASE_URL = env.TEST_CITUS_URL;
  const stack = new AsyncDisposableStack();
  const abouts = await Promise.all(
    Object.entries(VARIABLES).map(async ([name, variable]) => {
      if (env[variable]) return `${name} from ${variable}`;
      const store = await start[name]?.();
      if (!store) throw new Error(`${name} cannot be started`);
      stack.use(store);
      env[variable] = store.url; // workers are started later and inherit the environment
      return `${name} ${store.about}`;
    }),
  );
  // Tests copy it: bringing tables up to date takes a process each time.
  const tables = stack.use(await freshDatabase());
  if (env.TEST_CITUS_URL) await distribute(tables.url, migrate);
  else await migrate(tables.url);
  env.TEST_TABLES = new URL(tables.url).pathname.slice(1);
  env.TEST_WEB_DIR = (await buildWebApp()).folder;
  console.log(`Stores: ${abouts.join('; ')}`);
  return () => stack.disposeAsync();
}
