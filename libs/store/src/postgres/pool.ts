import { createHash } from 'node:crypto';
import { Unavailable } from '@mayfly/shared/errors';
import type { Logger } from '@mayfly/shared/logger';
import pg from 'pg';

pg.types.setTypeParser(pg.types.builtins.INT8, Number); // sizes and counts stay below 2^53

/** SQLSTATE classes and codes that say "not now": connection, resources, operator intervention, time-outs, read-only. */
const OUTAGE = /^(08|53|57|58|XX)|^(25006|55P03|40001|40P01)$/;
const NETWORK = /^E[A-Z]+$/;
const PG_MESSAGES = /Connection terminated|timeout exceeded|Query read timeout|not queryable|connection error/i;

/** A fault of the connection or the server becomes Unavailable; a fault of the query stays what it is. */
function translate(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = String((error as { code?: unknown }).code ?? '');
  const away = OUTAGE.test(code) || NETWORK.test(code) || PG_MESSAGES.test(error.message);
  return away ? new Unavailable('PostgreSQL is not available', { cause: error }) : error;
}

const statementNames = new Map<string, string>();

function statementName(text: string): string {
  let name = statementNames.get(text);
  if (!name) {
    name = createHash('sha1').update(text).digest('hex');
    statementNames.set(text, name);
  }
  return name;
}

/** A client whose parameterised statements are prepared once per connection (about half the server's CPU each). */
class PreparingClient extends pg.Client {
  // Kysely calls query(text, values) and nothing else; everything that is not that goes through unchanged.
  override query = ((...args: unknown[]) => {
    const [text, values] = args;
    if (typeof text !== 'string' || !Array.isArray(values) || args.length > 2) {
      return (super.query as (...all: unknown[]) => unknown)(...args);
    }
    const named = values.length > 0 ? { name: statementName(text), text, values } : { text };
    return super.query(named).catch((error: unknown) => {
      throw translate(error);
    });
  }) as pg.Client['query'];
}

class TranslatingPool extends pg.Pool {
  // The promise form is what Kysely uses; pg's own query() uses the callback form.
  override connect = ((callback?: unknown) => {
    if (callback) return (super.connect as (callback: unknown) => void)(callback);
    return super.connect().catch((error: unknown) => {
      throw translate(error);
    });
  }) as pg.Pool['connect'];
}

export function openPool(url: string, max: number, logger: Logger): pg.Pool {
  const pool = new TranslatingPool({
    connectionString: url,
    Client: PreparingClient,
    max,
    connectionTimeoutMillis: 5_000, // the wait for a free connection, too: a burst must not become 503s
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 1_800,
    statement_timeout: 5_000,
    lock_timeout: 2_000,
    idle_in_transaction_session_timeout: 10_000,
    query_timeout: 8_000,
    keepAlive: true,
    application_name: 'mayfly',
  });
  const onError = (error: NodeJS.ErrnoException) => logger.warn({ code: error.code }, 'a PostgreSQL connection broke');
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}
