import { openDatabase } from '@mayfly/store/postgres/database';
import { openPool } from '@mayfly/store/postgres/pool';
import type { Schema } from '@mayfly/store/postgres/schema';
import { freshDatabase } from '@mayfly/testing/stores';
import { Kysely, PostgresDialect } from 'kysely';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { cleanupDeps } from '../src/cleanup-deps.ts';
import { reconcile } from '../src/reconcile.ts';
import { sweep } from '../src/sweep.ts';
import { fill } from './many-rows.ts';

const logger = pino({ level: 'silent' });

test('no statement of a sweep or a comparison reads a whole table (plans of PostgreSQL, 60,000 rows)', async () => {
  await using database = await freshDatabase({ hasTables: true });
  const filling = openDatabase({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: 1 }, logger);
  await fill(filling, 60_000, 600);
  await filling.destroy();

  const statements = new Map<string, readonly unknown[]>();
  const pool = openPool(database.url, 2, logger);
  const db = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void statements.set(query.sql, query.parameters),
  });
  const blobs = {
    async *list() {
      yield [];
    },
    endPartials: async () => 0,
    assertPaired: async () => {},
    delete: async () => [],
  };
  const deps = cleanupDeps(db, blobs as never, { TOMBSTONE_TTL_SEC: 3600, RECONCILE_GRACE_SEC: 3600 }); // only these are called
  expect(Object.values(await sweep(deps)).reduce((sum, count) => sum + count)).toBeGreaterThan(600);
  await reconcile({ ...deps, graceSec: -60 }, { isDryRun: true });
  await deps.uploads.known([]);
  await deps.uploads.recordOrphans([]);
  await deps.uploads.markLost([]);
  await deps.uploads.markFound([]);

  const wholeTables: string[] = [];
  const client = await pool.connect();
  for (const [text, parameters] of statements) {
    const { rows } = await client.query(`explain ${text}`, [...parameters]);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    if (/Seq Scan on (uploads|notes|requests)/.test(plan)) wholeTables.push(`${text}\n${plan}`);
  }
  client.release();
  await db.destroy();
  expect(statements.size).toBeGreaterThan(8);
  expect(wholeTables).toEqual([]);
});
