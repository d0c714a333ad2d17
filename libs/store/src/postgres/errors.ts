import { NoRoom, Unavailable } from '@mayfly/shared/errors';
import pg from 'pg';

/** SQLSTATE classes and codes that say "not now": connection, resources, operator intervention, time-outs, read-only. */
const OUTAGE = /^(08|53|57|58|XX)|^(25006|55P03|40001|40P01)$/;
const DISK_FULL = '53100';
const NETWORK = /^E[A-Z]+$/;
const PG_MESSAGES =
  /Connection terminated|timeout (exceeded|expired)|Query read timeout|not queryable|connection error/i;
/** Of the server's refusals those that any other statement would get as well. */
const WHOLE_SERVER = /^(53|58|XX)|^25006$/;

/** A fault of the connection or the server becomes Unavailable; a fault of the query stays what it is. */
export function translate(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = String((error as { code?: unknown }).code ?? '');
  if (code === DISK_FULL) return new NoRoom('The disk of PostgreSQL is full', { cause: error });
  const away = OUTAGE.test(code) || NETWORK.test(code) || PG_MESSAGES.test(error.message);
  return away ? unavailable(error) : error;
}

export const unavailable = (cause: unknown) => new Unavailable('PostgreSQL is not available', { cause });

/** pg has waited for an answer as long as it was told to: nobody knows what became of the statement. */
export const isSilence = (error: unknown) => error instanceof Error && error.message === 'Query read timeout';

/**
 * The server has answered that it undid this statement, for a reason that need not hold for another one. After a lost
 * connection or a time-out of our own the statement may have been committed.
 */
export function wasUndone(error: unknown): boolean {
  const cause = error instanceof Unavailable ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.severity === 'ERROR' && !WHOLE_SERVER.test(cause.code ?? '');
}
