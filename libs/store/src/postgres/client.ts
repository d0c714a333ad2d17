import { createHash } from 'node:crypto';
import pg from 'pg';
import { isSilence, translate } from './errors.ts';

/** Milliseconds after which the server gives up by itself. */
const SERVER_PATIENCE = {
  statement_timeout: 5_000,
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
};

/**
 * Sent once per connection. As parameters of the start PgBouncer would refuse these. What the role or the database has
 * set lower stays: then nothing is set, which is what a pooler in transaction mode needs. Decision silent-postgres.
 */
const BEGIN_SESSION = `
  select pg_backend_pid() as pid, (
    select count(set_config(name, ms::text, false))
    from (values ${Object.entries(SERVER_PATIENCE)
      .map(([name, ms]) => `('${name}', ${ms})`)
      .join(', ')}) as patience (name, ms)
    where extract(epoch from current_setting(name)::interval) * 1000 not between 1 and ms
  ) as changed`;

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
export class Client extends pg.Client {
  readonly openedAt = performance.now();
  /** A statement has had no answer in time. The connection has ended. */
  isSilent = false;
  #prepares = false;

  // Kysely calls query(text, values) and nothing else; everything that is not that goes through unchanged.
  override query = ((...args: unknown[]) => {
    const [text, values] = args;
    if (typeof text !== 'string' || !Array.isArray(values) || args.length > 2) {
      return (super.query as (...all: unknown[]) => unknown)(...args);
    }
    const hasValues = values.length > 0 ? { values } : {};
    const named = this.#prepares && values.length > 0 ? { name: statementName(text) } : {};
    return super.query({ text, ...hasValues, ...named }).catch((error: unknown) => {
      if (isSilence(error)) {
        this.isSilent = true;
        this.connection.stream.destroy(); // a rollback must not wait for this statement
      }
      throw translate(error);
    });
  }) as pg.Client['query'];

  /** What every connection of the service begins with. */
  async beginSession(prepare: 'auto' | 'yes' | 'no') {
    const { rows } = await super.query<{ pid: number }>(BEGIN_SESSION);
    // A pooler makes up the process that it names at the start; the one that works may be another for each statement.
    const { processID } = this as unknown as { processID: number };
    this.#prepares = prepare === 'yes' || (prepare === 'auto' && rows[0]?.pid === processID);
  }
}
