import type { Logger } from '@mayfly/shared/logger';
import { Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import { observePool } from '../observed.ts';
import * as files from './migrations/0001-files.ts';
import * as notes from './migrations/0002-notes.ts';
import { openPool } from './pool.ts';
import type { Schema } from './schema.ts';

export type Database = Kysely<Schema>;

/** Opens a pool; connections are made when needed. Disposing waits for running queries. */
export function openDatabase(config: { DATABASE_URL: string; DATABASE_POOL_SIZE: number }, logger: Logger): Database {
  const pool = openPool(config.DATABASE_URL, config.DATABASE_POOL_SIZE, logger);
  observePool(pool);
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}

/** Brings the tables up to date. Several processes may do it at once: one works, the others wait. */
export async function migrate(db: Database): Promise<void> {
  const migrations = { '0001-files': files, '0002-notes': notes };
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => migrations } }).migrateToLatest();
  if (error) throw error;
}
