import { freshDatabase, query } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { beforeAll, expect, test } from 'vitest';
import { COLUMNS } from '../src/postgres/columns.ts';
import { openDatabase } from '../src/postgres/database.ts';
import { postgresNotes } from '../src/postgres/notes.ts';
import { postgresUploads } from '../src/postgres/uploads.ts';

// Whether a replica is fit for requests: a table that is not what its statements expect must not look like one that is.

let url: string;
let checks: Record<string, () => Promise<void>>;
beforeAll(async () => {
  const stack = new AsyncDisposableStack();
  ({ url } = stack.use(await freshDatabase({ hasTables: true })));
  const db = stack.use(openDatabase({ DATABASE_URL: url, DATABASE_POOL_SIZE: 1 }, pino({ level: 'silent' })));
  checks = { files: postgresUploads(db).check, notes: postgresNotes(db).check };
  return () => stack.disposeAsync();
});

const columns = Object.entries(COLUMNS).flatMap(([table, names]) => Object.keys(names).map((name) => [table, name]));

/** Only keeps its table at one row: no statement names it. */
const UNNAMED = ['files.blob_store.is_single'];

test('with all tables as they should be the checks pass, and they know every column that there is', async () => {
  await Promise.all(Object.values(checks).map((check) => check()));
  const there = await query<{ name: string }>(
    url,
    `select table_schema || '.' || table_name || '.' || column_name as name from information_schema.columns
     where table_schema in ('files', 'notes')`,
  );
  const known = [...columns.map((path) => path.join('.')), ...UNNAMED];
  expect(known.sort()).toEqual(there.map(({ name }) => name).sort());
});

test.each(columns)(
  '%s without %s: its check fails, the other one passes, and both pass again after it',
  async (table, name) => {
    const [service, other] = table.startsWith('notes.') ? (['notes', 'files'] as const) : (['files', 'notes'] as const);
    await query(url, `alter table ${table} rename column ${name} to ${name}_before`);
    await expect(checks[service]?.()).rejects.toThrow(name);
    await checks[other]?.();
    await query(url, `alter table ${table} rename column ${name}_before to ${name}`);
    await checks[service]?.();
  },
);
