import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@mayfly/shared/logger';
import { Pool } from 'undici';

/** All addresses that a host name has now. */
export type Lookup = (host: string) => Promise<LookupAddress[]>;

/** One replica of a service. */
export type Replica = {
  address: string;
  /** Another one takes its place when the replica says that it leaves. */
  pool: Pool;
  /** Requests under way. (The pool's own statistics count all its connections anew each time.) */
  running: number;
  /** When it last could not be reached; undefined while it can. */
  awaySince: number | undefined;
  /** When it last said that it leaves; undefined when it never did. */
  leavingSince: number | undefined;
};

const FRESH_MS = 2_000;
const LOOKUP_MS = 500;
const AVOID_MS = 1_000;
const LEAVING_MS = 5_000;

const systemLookup: Lookup = (host) => dns.lookup(host, { all: true });

/**
 * The replicas behind a host name, in turns. The name is asked again every two seconds while there are requests, so that new
 * replicas get connections and old ones lose them. A name server that is slow or away changes nothing.
 */
export function openAddresses(url: string, logger: Logger, lookup: Lookup = systemLookup) {
  const { hostname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  let replicas: Replica[] = isIP(host) ? [replica(url, { address: host, family: isIP(host) })] : [];
  let askedAt = isIP(host) ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  let turn = 0;

  async function ask() {
    try {
      const found = await lookup(host);
      if (found.length === 0) throw Object.assign(new Error('a name has no address'), { code: 'ENODATA' });
      follow(found);
    } catch (error) {
      if (replicas.length === 0) throw error;
      logger.info(
        { host, code: (error as NodeJS.ErrnoException).code },
        'a name was not found: its last addresses stay',
      );
    } finally {
      askedAt = performance.now();
      asking = undefined;
    }
  }

  function follow(found: LookupAddress[]) {
    const known = new Map(replicas.map((one) => [one.address, one]));
    const wanted = new Map(found.map((one) => [one.address, one]));
    for (const [address, { pool }] of known) {
      // What runs there runs to its end.
      if (!wanted.has(address)) closePool(pool);
    }
    replicas = [...wanted.values()].map((one) => known.get(one.address) ?? replica(url, one));
  }

  function closePool(pool: Pool) {
    pool.close().catch((err: unknown) => logger.info({ err }, 'a replica did not close'));
  }

  async function current(): Promise<Replica[]> {
    if (replicas.length === 0 || performance.now() - askedAt > FRESH_MS) {
      asking ??= ask();
      if (replicas.length === 0) await asking;
      else await Promise.race([asking, sleep(LOOKUP_MS)]);
    }
    return replicas;
  }

  return {
    current,
    /**
     * The next replica in turn, but for those that were tried; one that leaves or could not be reached a moment ago only when
     * no other is left. Undefined when all were tried.
     */
    async next(tried: ReadonlySet<Replica> = new Set()): Promise<Replica | undefined> {
      const all = (await current()).filter((one) => !tried.has(one));
      const now = performance.now();
      const isWithin = (ms: number, since = Number.NEGATIVE_INFINITY) => now - since <= ms;
      const reachable = all.filter(({ awaySince }) => !isWithin(AVOID_MS, awaySince));
      const staying = reachable.filter(({ leavingSince }) => !isWithin(LEAVING_MS, leavingSince));
      const choice = [staying, reachable, all].find((some) => some.length > 0) ?? [];
      turn = (turn + 1) % Math.max(choice.length, 1);
      return choice[turn];
    },
    /** It said that it ends its connections: its kept ones are given up, so that no request meets one that is just closing. */
    leaves(one: Replica) {
      const now = performance.now();
      if (now - (one.leavingSince ?? Number.NEGATIVE_INFINITY) <= LEAVING_MS) return;
      one.leavingSince = now;
      closePool(one.pool);
      one.pool = openPool(url, one);
    },
    async close() {
      await Promise.all(replicas.map(({ pool }) => pool.close()));
    },
  };
}

function replica(url: string, found: LookupAddress): Replica {
  return {
    address: found.address,
    pool: openPool(url, found),
    running: 0,
    awaySince: undefined,
    leavingSince: undefined,
  };
}

function openPool(url: string, { address }: { address: string }): Pool {
  const family = isIP(address);
  const pinned: LookupFunction = (_host, { all }, done) =>
    all ? done(null, [{ address, family }]) : done(null, address, family);
  return new Pool(new URL(url).origin, {
    connections: MOST_REQUESTS,
    pipelining: 1,
    connect: { timeout: 2_000, lookup: pinned },
    headersTimeout: 60_000, // begins when the request's body is sent
    bodyTimeout: 60_000, // between two chunks of the answer
    keepAliveTimeout: 10_000, // well below the services' 75 s, so that no request meets a closing connection
    keepAliveMaxTimeout: 30_000,
  });
}

/** A request over this is refused: it would wait for as long as the others stay. */
export const MOST_REQUESTS = 1_024;
