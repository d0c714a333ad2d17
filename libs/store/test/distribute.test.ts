import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshDatabase, query } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { COLUMNS } from '../src/postgres/columns.ts';
import { LOCAL } from './statement-shapes.ts';

/** Stands in for Citus: it notes what is distributed, and refuses a unique key without the column that decides on the place. */
const STAND_IN = `
  create table pg_dist_partition (logicalrelid regclass primary key, partmethod "char" default 'h');
  create function create_distributed_table(name text, item text) returns void language plpgsql as $$
  begin
    if exists (
      select from pg_index i where i.indrelid = name::regclass and i.indisunique and not exists (
        select from pg_attribute a where a.attrelid = i.indrelid and a.attname = item and a.attnum = any (i.indkey)
      )
    ) then raise exception 'a unique key of % lacks %', name, item;
    end if;
    insert into pg_dist_partition (logicalrelid) values (name::regclass);
  end $$;`;

test.skipIf(process.env.TEST_CITUS_URL)(
  'every table is distributed by a column of each of its unique keys, or stays where it is; what is distributed stays so (not on TEST_CITUS_URL, where the tests begin with it)',
  async () => {
    await using database = await freshDatabase({ hasTables: true });
    const script = await readFile(join(import.meta.dirname, '../../../deploy/citus/distribute.sql'), 'utf8');
    await query(database.url, STAND_IN);
    await query(database.url, script);
    await query(database.url, script);
    const distributed = await query<{ name: string }>(
      database.url,
      'select logicalrelid::text as name from pg_dist_partition',
    );
    expect([...distributed.map(({ name }) => name), ...LOCAL].sort()).toEqual(Object.keys(COLUMNS).sort());
  },
);
