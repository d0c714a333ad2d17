import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@mayfly/shared/logger';
import pg from 'pg';
import { Client } from './client.ts';
import { translate, unavailable } from './errors.ts';
import { observeWaits } from './observe-pool.ts';

pg.types.setTypeParser(pg.types.builtins.INT8, Number); // sizes and counts stay below 2^53

/** The wait for a free connection, too: a burst must not become 503s. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than the server's own patience: what takes this long is a server that is no longer heard. */
const SILENCE_MS = 6_000;

/** Connections that are kept while nothing happens: a process that has none may not get one. */
const KEPT = 2;
/** SQLSTATE: the server, the database or the role has as many connections as it may. */
const TOO_MANY = '53300';
/** SQLSTATE: the password is not that of the role. While it is being changed, connections that there are go on. */
const OLD_PASSWORD = '28P01';
/** So often a pool that makes do with what it has tries to get one more. */
const ONE_MORE_MS = 500;
const TRY_AGAIN_MS = 100;

const waited = observeWaits('pool');

const COMMON = { Client, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true, application_name: 'mayfly' };

type Lent = pg.PoolClient & Client;

class Pool extends pg.Pool {
  /** One connection was silent: those that were opened before this moment may be as well, and are not used again. */
  #suspectBefore = 0;

  readonly #most: number;
  /** Connections that there are; the pool's own count has those that are being tried, too. */
  #open = 0;
  #hasBegun = false;
  #growing: NodeJS.Timeout | undefined;

  constructor(options: pg.PoolConfig & { max: number }) {
    super(options);
    this.#most = options.max;
    this.on('connect', () => {
      this.#hasBegun = true;
      this.#open += 1;
    });
    this.on('remove', () => {
      this.#open -= 1;
    });
  }

  /** The server has no connection left to give: who waits for one waits for those that are there, and now and then for one more. */
  #makeDo() {
    this.options.max = Math.max(this.#open, 1);
    if (this.#growing) return;
    this.emit('makeDo', this.#open);
    this.#growing = setInterval(() => {
      this.options.max = Math.min(this.#open + 1, this.#most);
      if (this.options.max === this.#most || this.ending) {
        clearInterval(this.#growing);
        this.#growing = undefined;
      }
    }, ONE_MORE_MS).unref();
  }

  // The promise form is what Kysely uses; pg's own query() uses the callback form.
  override connect = ((callback?: unknown) => {
    if (callback) return (super.connect as (callback: unknown) => void)(callback);
    const since = performance.now();
    return this.#connect(() => super.connect() as Promise<Lent>).finally(() => waited(since));
  }) as pg.Pool['connect'];

  async #connect(take: () => Promise<Lent>): Promise<Lent> {
    const until = performance.now() + CONNECT_TIMEOUT_MS;
    for (;;) {
      const client = await take().catch((error: unknown) => {
        const { code } = error as { code?: unknown };
        const canMakeDo = code === TOO_MANY || (code === OLD_PASSWORD && this.#open > 0);
        // The password was right when this process began: an operator is changing it, and it is no fault of a request.
        if (code === OLD_PASSWORD && this.#hasBegun && this.#open === 0) throw unavailable(error);
        if (!canMakeDo || performance.now() > until) throw translate(error);
        this.#makeDo();
        return undefined;
      });
      if (!client) {
        // Where it has others, the next try waits for one of them.
        if (this.#open === 0) await sleep(TRY_AGAIN_MS);
        continue;
      }
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
    min: Math.min(KEPT, max),
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 1_800,
    query_timeout: SILENCE_MS,
    onConnect: (client) => (client as Client).beginSession(prepare),
  });
  const onError = (error: NodeJS.ErrnoException) => logger.warn({ code: error.code }, 'a PostgreSQL connection broke');
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  pool.on('makeDo' as 'error', (connections) => {
    logger.warn({ connections, wanted: max }, 'PostgreSQL gives no more connections: this process makes do');
  });
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
