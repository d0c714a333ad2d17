import type { Logger } from '@mayfly/shared/logger';
import pg from 'pg';
import { Client } from './client.ts';
import { translate } from './errors.ts';

pg.types.setTypeParser(pg.types.builtins.INT8, Number); // sizes and counts stay below 2^53

/** The wait for a free connection, too: a burst must not become 503s. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than the server's own patience: what takes this long is a server that is no longer heard. */
const SILENCE_MS = 6_000;

const COMMON = { Client, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true, application_name: 'mayfly' };

type Lent = pg.PoolClient & Client;

class Pool extends pg.Pool {
  /** One connection was silent: those that were opened before this moment may be as well, and are not used again. */
  #suspectBefore = 0;

  // The promise form is what Kysely uses; pg's own query() uses the callback form.
  override connect = ((callback?: unknown) => {
    if (callback) return (super.connect as (callback: unknown) => void)(callback);
    return this.#connect(() => super.connect() as Promise<Lent>);
  }) as pg.Pool['connect'];

  async #connect(take: () => Promise<Lent>): Promise<Lent> {
    for (;;) {
      const client = await take().catch((error: unknown) => {
        throw translate(error);
      });
      const { release } = client;
      const discard = () => {
        client.connection.stream.destroy(); // a goodbye would wait for an answer
        release(true);
      };
      // Kysely gives a connection back without a word about how it went.
      client.release = (error) => {
        if (client.isSilent) this.#suspectBefore = performance.now();
        if (client.openedAt < this.#suspectBefore) discard();
        else release(error);
      };
      if (client.openedAt >= this.#suspectBefore) return client;
      discard();
    }
  }
}

/** `prepare`: whether statements are prepared once per connection; `auto`: unless a pooler stands between. */
export function openPool(url: string, max: number, logger: Logger, prepare: 'auto' | 'yes' | 'no' = 'auto'): pg.Pool {
  const pool = new Pool({
    ...COMMON,
    connectionString: url,
    max,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 1_800,
    query_timeout: SILENCE_MS,
    onConnect: (client) => (client as Client).beginSession(prepare),
  });
  const onError = (error: NodeJS.ErrnoException) => logger.warn({ code: error.code }, 'a PostgreSQL connection broke');
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/** One connection that waits as long as it takes, for what is not a request. */
export function openPatientPool(url: string): pg.Pool {
  const pool = new Pool({ ...COMMON, connectionString: url, max: 1 });
  // What runs on the connection fails and says why; without a listener the process would end.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
