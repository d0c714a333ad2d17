import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalRedis, startRedis } from '@mayfly/local-stores/redis';
import pg from 'pg';

/** The PostgreSQL of this test run. Its databases are made with freshDatabase. */
export function testDatabaseUrl(): string {
  return fromEnvironment('TEST_DATABASE_URL');
}

/** The same of each of its servers, the coordinator first: one, unless TEST_CITUS_URL names a cluster. */
export async function testServers(): Promise<string[]> {
  const coordinator = testDatabaseUrl();
  if (!process.env.TEST_CITUS_URL) return [coordinator];
  const nodes = await query<{ host: string; port: number }>(
    coordinator,
    `select nodename as host, nodeport as port from pg_dist_node where groupid <> 0 and noderole = 'primary'`,
  );
  if (nodes.length === 0) throw new Error('TEST_CITUS_URL names a coordinator without nodes');
  const urls = nodes.map(({ host, port }) => Object.assign(new URL(coordinator), { host: `${host}:${port}` }).href);
  return [coordinator, ...urls];
}

/** The Redis of this test run. Every test shares it, so keys need a prefix of the test's own. */
export function testRedisUrl(): string {
  return fromEnvironment('TEST_REDIS_URL');
}

/** The settings that lead to the S3 store of this test run, with a bucket of their own that does not exist yet. */
export function testS3Settings() {
  const url = new URL(fromEnvironment('TEST_S3_URL'));
  return {
    S3_ENDPOINT: url.origin,
    S3_REGION: url.searchParams.get('region') ?? 'us-east-1',
    S3_BUCKET: `test-${randomBytes(8).toString('hex')}`,
    S3_PATH_STYLE: 'true' as const,
    S3_ACCESS_KEY: decodeURIComponent(url.username),
    S3_SECRET_KEY: decodeURIComponent(url.password),
  };
}

function fromEnvironment(name: string): string {
  const url = process.env[name];
  if (!url) throw new Error(`${name} is not set: start the tests with npm test or vitest, which start the stores`);
  return url;
}

/** A database of its own, empty or with the service's tables, dropped when it is disposed of whatever still uses it. */
export async function freshDatabase({ hasTables = false } = {}): Promise<AsyncDisposable & { url: string }> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const template = hasTables ? ` TEMPLATE ${fromEnvironment('TEST_TABLES')}` : '';
  const servers = await testServers();
  for (const server of servers) await query(server, `CREATE DATABASE ${name}${template}`);
  const url = new URL(testDatabaseUrl());
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) await query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** The rows that a statement gives, on a connection of its own. */
export async function query<Row = Record<string, unknown>>(
  databaseUrl: string,
  statement: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    return (await client.query(statement, values)).rows;
  } finally {
    await client.end();
  }
}

/** As if everything in the tables of a database had happened so much earlier. */
export async function letTimePass(databaseUrl: string, seconds: number) {
  const columns = await query<{ table: string; column: string }>(
    databaseUrl,
    `select format('%I.%I', table_schema, table_name) as table, column_name as column from information_schema.columns
      where table_schema in ('files', 'notes', 'desk') and data_type = 'timestamp with time zone' and datetime_precision = 3`,
  );
  const ofViews = `recent_views = (select jsonb_object_agg(key, value ||
    jsonb_build_object('until', (value ->> 'until')::timestamptz - make_interval(secs => ${seconds}))) from jsonb_each(recent_views))`;
  const statements = [...Map.groupBy(columns, ({ table }) => table)].map(([table, all]) => {
    // The sum of a time and an interval would be nothing that a distributed table can be changed by.
    const changes = all.map(
      ({ column }) => `${column} = to_timestamp((extract(epoch from ${column} - 'epoch') - ${seconds})::float8)`,
    );
    if (table === 'notes.notes') changes.push(ofViews);
    return `update ${table} set ${changes.join(', ')}`;
  });
  await query(databaseUrl, statements.join(';'));
}

/** A Redis of its own, for tests that stop it, fill it or look at every key. */
export function freshRedis(): Promise<LocalRedis & { pause(): void; resume(): void }> {
  return startRedis().then((redis) => ({
    ...redis,
    /** It hangs: connections stay open and nothing is answered. */
    pause: () => void process.kill(redis.pid, 'SIGSTOP'),
    resume: () => void process.kill(redis.pid, 'SIGCONT'),
  }));
}

/** An empty folder, removed when it is disposed of. */
export async function freshFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = mkdtempSync(join(tmpdir(), 'mayfly-test-'));
  chmodSync(path, 0o755);
  // A process that has just been ended may still have children that write there.
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 10 }) };
}
