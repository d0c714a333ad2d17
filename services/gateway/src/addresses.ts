import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@mayfly/shared/logger';
import { Pool, request as send } from 'undici';
import type { Route } from './routes.ts';
import { openSlots, type Slots } from './slots.ts';
import { openWatch, type Watch } from './watch.ts';

/**
 * A connection whose answer is not taken reads nothing ahead: the system's own buffers are enough. Decision
 * memory-per-client.
 */
const READ_ONLY_WHAT_IS_TAKEN = { highWaterMark: undefined, readableHighWaterMark: 0 };

/** All addresses that a host name has now. */
export type Lookup = (host: string) => Promise<LookupAddress[]>;

/** One replica of a service. */
export type Replica = {
  address: string;
  /** Another one takes its place when the replica says that it leaves. */
  pool: Pool;
  /** Connections for what the gateway itself asks: they are there however many requests stand still. */
  ownPool: Pool;
  slots: Slots;
  watch: Watch;
  /** When it last said that it leaves; undefined when it never did. */
  leavingSince: number | undefined;
};

const FRESH_MS = 2_000;
const LOOKUP_MS = 500;
const ALIVE_MS = 1_000;
const LEAVING_MS = 5_000;

const systemLookup: Lookup = (host) => dns.lookup(host, { all: true });

/**
 * The replicas behind a host name, in turns. The name is asked again every two seconds while there are requests, so that new
 * replicas get connections and old ones lose them. A name server that is slow or away changes nothing.
 */
export function openAddresses(url: string, logger: Logger, lookup: Lookup = systemLookup, mostRequests?: number) {
  const { hostname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  let replicas: Replica[] = isIP(host) ? [open(host)] : [];
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
    for (const [address, one] of known) if (!wanted.has(address)) close(one);
    replicas = [...wanted.values()].map((one) => known.get(one.address) ?? open(one.address));
  }

  function open(address: string): Replica {
    return openReplica(url, address, openSlots(mostRequests), logger);
  }

  /** What runs there runs to its end. */
  function close({ pool, ownPool, watch }: Replica) {
    watch.close();
    closePool(ownPool);
    closePool(pool);
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
     * The next replica in turn that has room, but for those that were tried; one that leaves or does not answer only when
     * no other is left. Undefined when none is. To be called after `current`, and its slot taken in the same turn: whoever
     * comes between would be given the same slot.
     */
    next(route: Pick<Route, 'payload'> = {}, tried: ReadonlyMap<Replica, unknown> = new Map()) {
      const all = replicas.filter((one) => !tried.has(one) && one.slots.hasRoom(route));
      const fit = all.filter(({ watch }) => watch.isFit());
      const staying = fit.filter((one) => !isLeaving(one));
      const choice = [staying, fit, all].find((some) => some.length > 0) ?? [];
      turn = (turn + 1) % Math.max(choice.length, 1);
      return choice[turn];
    },
    /** Whether there is one that answers and has room, besides those that were tried and this one. */
    hasOther: (than: Replica, tried: ReadonlyMap<Replica, unknown>, route: Route) =>
      replicas.some((one) => one !== than && !tried.has(one) && one.watch.isFit() && one.slots.hasRoom(route)),
    replicas: () => replicas,
    /** It said that it ends its connections: its kept ones are given up, so that no request meets one that is just closing. */
    leaves(one: Replica) {
      if (isLeaving(one)) return;
      one.leavingSince = performance.now();
      closePool(one.pool);
      one.pool = openPool(url, one);
    },
    async close() {
      for (const { watch } of replicas) watch.close();
      await Promise.all(replicas.flatMap(({ pool, ownPool }) => [pool.close(), ownPool.close()]));
    },
  };
}

const isLeaving = ({ leavingSince = Number.NEGATIVE_INFINITY }: Replica) =>
  performance.now() - leavingSince <= LEAVING_MS;

function openReplica(url: string, address: string, slots: Slots, logger: Logger): Replica {
  const ownPool = openPool(url, { address });
  const about = { service: url, address };
  const watch = openWatch({
    isAlive: () => isAlive(new URL('/livez', url), ownPool),
    onOut: (cause: NodeJS.ErrnoException) => logger.warn({ ...about, code: cause.code }, 'a service is away'),
    onBack: () => logger.info(about, 'a service is back'),
  });
  return { address, pool: openPool(url, { address }), ownPool, slots, watch, leavingSince: undefined };
}

/** Any answer is a sign of life, that of an older version, too. */
async function isAlive(url: URL, dispatcher: Pool): Promise<boolean> {
  try {
    const { body } = await send(url, { dispatcher, signal: AbortSignal.timeout(ALIVE_MS) });
    await body.dump();
    return true;
  } catch {
    return false; // that it is not is the answer
  }
}

function openPool(url: string, { address }: { address: string }): Pool {
  const family = isIP(address);
  const pinned: LookupFunction = (_host, { all }, done) =>
    all ? done(null, [{ address, family }]) : done(null, address, family);
  return new Pool(new URL(url).origin, {
    connections: null, // the slots are the limit: nothing must wait here for a connection
    pipelining: 1,
    connect: { timeout: 2_000, lookup: pinned, ...READ_ONLY_WHAT_IS_TAKEN },
    headersTimeout: 60_000, // begins when the request's body is sent
    bodyTimeout: 60_000, // between two chunks of the answer
    keepAliveTimeout: 10_000, // well below the services' 75 s, so that no request meets a closing connection
    keepAliveMaxTimeout: 30_000,
  });
}
