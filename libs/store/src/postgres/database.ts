import type { Logger } from '@mayfly/shared/logger';
import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import * as files from './migrations/0001-files.ts';
import * as notes from './migrations/0002-notes.ts';
import * as blobStore from './migrations/0003-blob-store.ts';
import * as storage from './migrations/0004-storage.ts';
import * as repeatedViews from './migrations/0005-repeated-views.ts';
import * as uploadSessions from './migrations/0006-upload-sessions.ts';
import * as downloadLeases from './migrations/0007-download-leases.ts';
import * as useTimes from './migrations/0008-use-times.ts';
import * as sealedMetadata from './migrations/0009-sealed-metadata.ts';
import * as notices from './migrations/0010-notices.ts';
import * as fileRequests from './migrations/0011-file-requests.ts';
import * as reports from './migrations/0012-reports.ts';
import * as requestStorage from './migrations/0013-request-storage.ts';
import { observePool } from './observe-pool.ts';
import { openPatientPool, openPool } from './pool.ts';
import type { Schema } from './schema.ts';

export type Database = Kysely<Schema>;

export type DatabaseConfig = {
  DATABASE_URL: string;
  DATABASE_POOL_SIZE: number;
  DATABASE_PREPARED_STATEMENTS?: 'auto' | 'yes' | 'no';
};

/** Opens a pool; connections are made when needed. Disposing waits for running queries. */
export function openDatabase(config: DatabaseConfig, logger: Logger): Database {
  const { DATABASE_URL, DATABASE_POOL_SIZE, DATABASE_PREPARED_STATEMENTS: prepare } = config;
  const pool = openPool(DATABASE_URL, DATABASE_POOL_SIZE, logger, prepare);
  observePool(pool);
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}

const MIGRATIONS = {
  '0001-files': files,
  '0002-notes': notes,
  '0003-blob-store': blobStore,
  '0004-storage': storage,
  '0005-repeated-views': repeatedViews,
  '0006-upload-sessions': uploadSessions,
  '0007-download-leases': downloadLeases,
  '0008-use-times': useTimes,
  '0009-sealed-metadata': sealedMetadata,
  '0010-notices': notices,
  '0011-file-requests': fileRequests,
  '0012-reports': reports,
  '0013-request-storage': requestStorage,
};

/** The key of the lock that Kysely itself would take: a release from before waits for this one, and the other way round. */
const LOCK = '3853314791062309107';

/** A migration that waits for a table holds up everybody who comes after it. */
const TABLE_LOCK_TIMEOUT = '30s';

/** The whole migration is one transaction that holds its own lock: a session's lock gets lost behind a pooler. */
class LockedByTransaction extends PostgresAdapter {
  override async acquireMigrationLock() {}
  override async releaseMigrationLock() {}
}

class MigrationDialect extends PostgresDialect {
  override createAdapter() {
    return new LockedByTransaction();
  }
}

/**
 * Brings the tables up to date, on a connection of its own on which statements may take as long as they need. Several
 * processes may do it at once: one works, the others wait. `migrations` are the service's own unless a test has others.
 */
export async function migrate(databaseUrl: string, migrations: Record<string, Migration> = MIGRATIONS): Promise<void> {
  await using db = new Kysely<Schema>({ dialect: new MigrationDialect({ pool: openPatientPool(databaseUrl) }) });
  await db.transaction().execute(async (transaction) => {
    // For this transaction only, whatever the role has.
    await sql`select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
      set_config('idle_in_transaction_session_timeout', '0', true)`.execute(transaction);
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)}::bigint)`.execute(transaction);
    await sql`select set_config('lock_timeout', ${TABLE_LOCK_TIMEOUT}, true)`.execute(transaction);
    const provider = { getMigrations: async () => migrations };
    const { error } = await new Migrator({ db: transaction, provider }).migrateToLatest();
    if (error) throw error;
  });
}
