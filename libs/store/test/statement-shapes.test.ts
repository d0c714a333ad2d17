import { query } from '@mayfly/testing/stores';
import { Kysely, PostgresDialect } from 'kysely';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { openPool } from '../src/postgres/pool.ts';
import type { Schema } from '../src/postgres/schema.ts';
import { postgresContracts } from './postgres-contracts.ts';
import { misshapen } from './statement-shapes.ts';

// Decision one-id-a-statement. A database that looks distributed gets the statements that one would; being one PostgreSQL, it keeps all
// promises with them as well. What a real one does with them: TEST_CITUS_URL, CONTRIBUTING.md.

const seen = new Set<string>();
const wrong = new Map<string, string>();

postgresContracts(async (url) => {
  if (!process.env.TEST_CITUS_URL) await query(url, 'create table pg_dist_partition ()');
  return new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: openPool(url, 10, pino({ level: 'silent' })) }),
    log({ query: { sql, parameters } }) {
      seen.add(sql);
      const problem = misshapen(sql, parameters);
      if (problem) wrong.set(sql, problem);
    },
  });
});

const ID = ['00000000-0000-4000-8000-000000000001'];

test.each([
  ['rows of whatever id', 'update files.uploads set size = 1 where size = $1', [2]],
  ['rows of two ids', 'delete from notes.notes where id = any($1::uuid[])', [[...ID, 'another']]],
  [
    'a lock on whatever id',
    'with due as (select id from notes.notes limit $1 for update skip locked) select from due',
    [1],
  ],
  [
    'a lock beside a join',
    'select from files.uploads u join wanted on true where u.id = any($1::uuid[]) for update',
    [ID],
  ],
  ['an interval of a column', 'select now() + make_interval(secs => size) from files.uploads where size > $1', [1]],
  ['the time in a case', 'update files.uploads set due_at = case when true then now() end where id = $1', ID],
  ['a slice', 'update files.uploads set used_at = used_at[1:2] where id = $1', ID],
  ['rows without columns', 'select count(*) from (select from files.uploads limit $1) as some', [1]],
])('a statement of another shape is found: %s', (_, text, parameters) => {
  expect(misshapen(text, parameters)).toBeDefined();
});

afterAll(() => {
  expect(seen.size).toBeGreaterThan(80);
  expect(Object.fromEntries(wrong)).toEqual({});
});
