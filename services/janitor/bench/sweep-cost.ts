import { startPostgres } from '@mayfly/local-stores/postgres';
import { migrate, openDatabase } from '@mayfly/store/postgres/database';
import { openPatientPool } from '@mayfly/store/postgres/pool';
import type { Schema } from '@mayfly/store/postgres/schema';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { pino } from 'pino';
import { cleanupDeps } from '../src/cleanup-deps.ts';
import { sweep } from '../src/sweep.ts';
import { fill } from './many-rows.ts';

// node services/janitor/bench/sweep-cost.ts: what a sweep costs per removed item in tables of 10,000, 100,000 and 1,000,000 rows,
// a tenth of them due. Blobs are deleted from nowhere: the database is what is measured. Figures are for comparing within a run.

const SIZES = [10_000, 100_000, 1_000_000];
const ROUNDS = 3;

await using postgres = await startPostgres();
const logger = pino({ level: 'silent' });
const open = (url: string, size: number) => openDatabase({ DATABASE_URL: url, DATABASE_POOL_SIZE: size }, logger);
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

type Measured = { removed: number; usPerItem: number; grewMiB: number };
const measured = new Map<number, Measured[]>(SIZES.map((rows) => [rows, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const rows of SIZES) measured.get(rows)?.push(await measure(rows, `rows_${rows}_${round}`));
}

const table = [...measured].map(([rows, rounds]) => ({
  rows,
  removed: median(rounds.map(({ removed }) => removed)),
  usPerItem: median(rounds.map(({ usPerItem }) => usPerItem)),
  grewMiB: Math.max(...rounds.map(({ grewMiB }) => grewMiB)),
}));
console.table(table);
const ratio = (table.at(-1)?.usPerItem ?? 0) / (table[0]?.usPerItem ?? 1);
console.log(`Cost per removed item, largest against smallest table: ${ratio.toFixed(2)} (medians of ${ROUNDS})`);

async function measure(rows: number, name: string): Promise<Measured> {
  const admin = open(postgres.url, 1);
  await sql`create database ${sql.id(name)}`.execute(admin);
  const url = new URL(postgres.url);
  url.pathname = `/${name}`;
  const db = open(url.href, 5);
  await migrate(url.href);
  await fillSlowly(url.href, rows);
  await sql`checkpoint`.execute(admin); // or the sweep would pay for the filling

  const nowhere = { endPartials: async () => 0, delete: async () => [] };
  const deps = cleanupDeps(db, nowhere as never, { TOMBSTONE_TTL_SEC: 3600, RECONCILE_GRACE_SEC: 3600 }); // only these are called
  const memory = process.memoryUsage().rss;
  const began = performance.now();
  const done = await sweep(deps);
  const ms = performance.now() - began;
  const removed = Object.values(done).reduce((sum, count) => sum + count, 0);
  const grewMiB = Math.round((process.memoryUsage().rss - memory) / 2 ** 20);
  await db.destroy();
  await sql`drop database ${sql.id(name)}`.execute(admin);
  await admin.destroy();
  return { removed, usPerItem: Math.round((ms * 1000) / removed), grewMiB };
}

/** Filling takes longer than the service lets a statement take. */
async function fillSlowly(databaseUrl: string, rows: number) {
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPatientPool(databaseUrl) }) });
  for (let filled = 0; filled < rows; filled += 50_000) {
    const part = Math.min(50_000, rows - filled);
    await fill(db, part, part / 10);
  }
  await db.destroy();
}
