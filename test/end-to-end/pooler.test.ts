import { randomUUID } from 'node:crypto';
import { migrate, openDatabase } from '@mayfly/store/postgres/database';
import { openPool } from '@mayfly/store/postgres/pool';
import { postgresUploads } from '@mayfly/store/postgres/uploads';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshDatabase, query } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { pgbouncer, startPooler } from '../support/pooler.ts';

// Between the service and PostgreSQL stands a real PgBouncer, in the two modes that there are.

const logger = pino({ level: 'silent' });
if (!pgbouncer) console.log('PgBouncer: skipped, there is none on this machine');

const MODES = ['session', 'transaction'] as const;

describe.skipIf(!pgbouncer).each(MODES)('the store behind PgBouncer in %s mode', (mode) => {
  const database = inSuite(() => freshDatabase());
  const url = inSuite(() => startPooler(database().url, mode));

  /** The server's patience as a connection of the service has it, and who set it. */
  const patience = async (address: string) => {
    const pool = openPool(address, 1, logger);
    const { rows } = await pool.query(`select setting, source from pg_settings where name = 'statement_timeout'`);
    await pool.end();
    return rows[0];
  };

  test('of several that bring the tables up to date one works, and no lock is left', async () => {
    await Promise.all(Array.from({ length: 4 }, () => migrate(url().url)));
    // Of this database: the server has others, where tests that run meanwhile hold locks.
    const statement = `select count(*)::int as locks from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`;
    expect(await query(database().url, statement)).toEqual([{ locks: 0 }]);
  });

  test('many calls at once share what connections there are', async () => {
    await using db = openDatabase({ DATABASE_URL: url().url, DATABASE_POOL_SIZE: 10 }, logger);
    const uploads = postgresUploads(db);
    const calls = () => [uploads.find(randomUUID()), uploads.renewLease(randomUUID(), 1), uploads.check()];
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 20 }, calls).flat());
  });

  test('a statement is ended after the time that the service gives it', async () => {
    expect(await patience(url().url)).toEqual({ setting: '5000', source: 'session' });
  });

  test('what the role or the database has set lower stays, and nothing is set that another client could get', async () => {
    for (const setting of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) {
      await query(
        database().url,
        `alter database ${new URL(database().url).pathname.slice(1)} set ${setting} = '1500ms'`,
      );
    }
    await using fresh = await startPooler(database().url, mode); // the connections of the other one are from before
    expect(await patience(fresh.url)).toEqual({ setting: '1500', source: 'database' });
  });
});

const PAIRS = SHAPES.map((shape, index) => [shape, MODES[index % MODES.length] ?? 'session'] as const);

describe.skipIf(!pgbouncer).each(PAIRS)('the service (%s) behind PgBouncer in %s mode', (shape, mode) => {
  const database = inSuite(() => freshDatabase({ hasTables: true }));
  const pooler = inSuite(() => startPooler(database().url, mode));
  const running = inSuite(() => startShape(shape, { DATABASE_URL: pooler().url }));

  test('it starts, and everything works, many at once', async () => {
    const works = async (baseUrl: string) => {
      const api = new Api(baseUrl);
      const upload = await api.newUpload();
      expect((await api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
      expect((await api.deleteUpload(upload.id, upload.ownerToken)).status).toBe(200);
      const note = await api.newNote();
      expect((await api.view(note.id, note.authToken)).status).toBe(200);
    };
    await Promise.all(
      Array.from({ length: 30 }, (_, i) => works(running().baseUrls[i % running().baseUrls.length] ?? '')),
    );
  });
});
