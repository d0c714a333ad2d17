import { randomUUID } from 'node:crypto';
import { Unavailable } from '@mayfly/shared/errors';
import { freshDatabase, query } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { type Database, openDatabase } from '../src/postgres/database.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';

const MOST = 8;

/** Pools of processes that may open more connections together than the server gives their role. */
async function openPools(count: number, logger: Parameters<typeof openDatabase>[1]) {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase({ hasTables: true }));
  const role = `few_${randomUUID().replaceAll('-', '')}`;
  await query(
    database.url,
    `create role ${role} login password 'few' connection limit ${MOST}; grant usage on schema files to ${role};
     grant select on all tables in schema files to ${role}`,
  );
  stack.defer(async () => {
    await query(database.url, `drop owned by ${role}; drop role ${role}`);
  });
  const url = new URL(database.url);
  [url.username, url.password] = [role, 'few'];
  const pools: Database[] = [];
  for (let index = 0; index < count; index++) {
    const db = openDatabase({ DATABASE_URL: url.href, DATABASE_POOL_SIZE: 5 }, logger);
    pools.push(stack.use(db));
  }
  return { pools, role, url: database.url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('four processes with five connections each share eight: nobody fails, and each says once that it makes do', {
  timeout: 60_000,
}, async () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  await using open = await openPools(4, logger);
  const { pools } = open;
  for (const db of pools) await postgresUploads(db).check(); // each has begun
  const slow = (db: Database) => db.executeQuery({ sql: 'select pg_sleep(0.05)', parameters: [] } as never);
  const asked = pools.flatMap((db) => Array.from({ length: 60 }, () => slow(db)));
  const outcomes = await Promise.allSettled(asked);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  const said = lines.filter((line) => line.includes('makes do'));
  expect(said.length).toBeGreaterThan(0);
  expect(said.length).toBeLessThanOrEqual(pools.length);
  // What it has is used by all who ask: later ones wait for nobody else.
  await Promise.all(pools.map((db) => postgresUploads(db).find(randomUUID())));
});

test('while the password of its role is another, a process goes on with the connections that it has; one that has none fails', {
  timeout: 60_000,
}, async () => {
  const logger = pino({ level: 'silent' });
  await using open = await openPools(2, logger);
  const [begun, late] = open.pools as [Database, Database];
  await postgresUploads(begun).check();
  await query(open.url, `alter role ${open.role} password 'changed'`);
  const slow = () => begun.executeQuery({ sql: 'select pg_sleep(0.05)', parameters: [] } as never);
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, slow));
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  const asked = performance.now();
  const wrong = await postgresUploads(late)
    .check()
    .catch((error: unknown) => error);
  expect(wrong, 'it has never been right').not.toBeInstanceOf(Unavailable);
  expect(performance.now() - asked, 'it does not wait for what only an operator mends').toBeLessThan(2_000);

  await query(open.url, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${open.role}'`);
  await expect
    .poll(() =>
      postgresUploads(begun)
        .check()
        .catch((error: unknown) => error),
    )
    .toBeInstanceOf(Unavailable);
  await query(open.url, `alter role ${open.role} password 'few'`);
  await postgresUploads(begun).check();
});
