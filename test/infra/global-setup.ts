import { startPostgres } from '@mayfly/local-stores/postgres';
import { startRedis } from '@mayfly/local-stores/redis';
import { buildWebApp } from '@mayfly/web/build';
import { startS3 } from './s3.ts';

/**
 * Starts the stores that TEST_DATABASE_URL, TEST_REDIS_URL and TEST_S3_URL do not name, and builds the web app unless it is
 * built, for all tests of a run.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const { env } = process;
  // npm test was killed: nobody waits for the result. The stores' guardians clean up.
  process.once('disconnect', () => process.exit(1));
  process.channel?.unref(); // listening alone must not keep vitest alive
  const stack = new AsyncDisposableStack();
  const [postgres, redis, s3] = await Promise.all([
    env.TEST_DATABASE_URL ? undefined : startPostgres({ maxConnections: 200 }).then((store) => stack.use(store)),
    env.TEST_REDIS_URL ? undefined : startRedis().then((store) => stack.use(store)),
    env.TEST_S3_URL ? undefined : startS3().then((store) => stack.use(store)),
  ]);
  env.TEST_WEB_DIR = (await buildWebApp()).folder;
  // Workers are started later and inherit the environment.
  if (postgres) env.TEST_DATABASE_URL = postgres.url;
  if (redis) env.TEST_REDIS_URL = redis.url;
  if (s3) env.TEST_S3_URL = s3.url;
  console.log(
    `Stores: PostgreSQL ${postgres ? `18 on port ${postgres.port}, started for the tests` : 'from TEST_DATABASE_URL'};`,
    `Redis ${redis ? `${redis.version} on port ${redis.port}, started for the tests` : 'from TEST_REDIS_URL'};`,
    `S3 ${s3 ? s3.about : 'from TEST_S3_URL'}`,
  );
  return () => stack.disposeAsync();
}
