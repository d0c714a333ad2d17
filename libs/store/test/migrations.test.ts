import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase, query } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { expect, test } from 'vitest';
import { migrate } from '../src/postgres/database.ts';

/** Longer than the service lets a statement of a request take. */
const LONG_SEC = 6;

test('a migration may take long, and whoever comes meanwhile waits for it', { timeout: 30_000 }, async () => {
  await using database = await freshDatabase();
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query(`alter database ${new URL(database.url).pathname.slice(1)} set statement_timeout = '1s'`);
  const slow = {
    '0001-slow': {
      async up(db: Kysely<never>) {
        await sql`create table runs (at timestamptz)`.execute(db);
        await sql`select pg_sleep(${sql.lit(LONG_SEC)})`.execute(db);
        await sql`insert into runs values (now())`.execute(db);
      },
    },
  };
  const began = performance.now();
  const first = migrate(database.url, slow);
  const active = async () =>
    (await client.query(`select query from pg_stat_activity where datname = current_database() and state = 'active'`))
      .rows;
  await untilTrue(async () => (await active()).some(({ query }) => query.includes('pg_sleep')));
  const others = [migrate(database.url, slow), migrate(database.url, slow)];
  await sleep(200);
  await Promise.all([first, ...others]);
  expect(performance.now() - began).toBeGreaterThan(LONG_SEC * 1000);
  expect((await client.query('select from runs')).rowCount).toBe(1);
  await client.end();
});

test('one that fails changes nothing, says why, and leaves no lock', async () => {
  await using database = await freshDatabase();
  const broken = {
    '0001-broken': {
      async up(db: Kysely<never>) {
        await sql`create table runs (at timestamptz)`.execute(db);
        await sql`select no_such_column`.execute(db);
      },
    },
  };
  await expect(migrate(database.url, broken)).rejects.toThrow('no_such_column');
  await migrate(database.url);
  const statement = `select to_regclass('runs') as runs, to_regclass('files.uploads') as uploads`;
  expect(await query(database.url, statement)).toEqual([{ runs: null, uploads: 'files.uploads' }]);
});
