import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpError, serviceUnavailable, Unavailable } from '@mayfly/shared/errors';
import type { Logger } from '@mayfly/shared/logger';
import { logOutage } from '@mayfly/shared/outage-log';
import { request as send } from 'undici';
import { type Lookup, openAddresses, type Replica } from './addresses.ts';
import { codeOf, faultOf, forward } from './forward.ts';
import { refuse } from './refuse.ts';
import type { Route } from './routes.ts';
import type { ApiDocument, BeforeAnswer, Upstream } from './upstream.ts';

/** A service on the network. Bodies stream both ways; a client that leaves ends the request there. */
export function remoteUpstream(
  url: string,
  logger: Logger,
  lookup?: Lookup,
  mostRequests?: number,
): Upstream & AsyncDisposable {
  const addresses = openAddresses(url, logger, lookup, mostRequests);

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    route: Route,
    beforeAnswer?: BeforeAnswer,
    tried = new Map<Replica, Error>(),
  ) {
    try {
      await addresses.current();
      if (response.destroyed) return;
      const replica = addresses.next(route, tried);
      if (replica) {
        forward(replica, request, response, route, {
          leaves: () => addresses.leaves(replica),
          hasOther: () => addresses.hasOther(replica, tried, route),
          beforeAnswer,
          askOther: (error) => void handle(request, response, route, beforeAnswer, tried.set(replica, error)),
          failed: (error) => refuse(request, response, failed(request, replica, error)),
        });
      } else if (tried.size > 0) {
        refuse(request, response, serviceUnavailable([...tried.values()].at(-1))); // each is in the log as away
      } else throw new Unavailable('a service has all it can take');
    } catch (error) {
      logOutage(logger, error);
      refuse(request, response, serviceUnavailable(error));
    }
  }

  function failed({ headers }: IncomingMessage, { address }: Replica, error: Error): HttpError {
    const fault = faultOf(error);
    const about = {
      service: url,
      address,
      status: fault.statusCode,
      code: codeOf(error),
      reqId: headers['x-request-id'],
    };
    logger.warn(about, fault.statusCode === 504 ? 'a service did not answer' : 'a service broke off');
    return fault;
  }

  async function assertReady({ ownPool }: Replica) {
    const signal = AbortSignal.timeout(2_000);
    const { statusCode, body } = await send(new URL('/readyz', url), { dispatcher: ownPool, signal });
    await body.dump();
    if (statusCode !== 200) throw new Unavailable('a service is not ready');
  }

  return {
    handle: (request, response, route, beforeAnswer) => void handle(request, response, route, beforeAnswer),
    async isReady() {
      try {
        await Promise.any((await addresses.current()).map(assertReady));
        return true;
      } catch {
        return false; // none of them is, or its name is not known
      }
    },
    replicas() {
      const all = addresses.replicas();
      const out = all.filter(({ watch }) => watch.isOut()).length;
      return { fit: all.length - out, out };
    },
    async describe() {
      try {
        await addresses.current();
        const replica = addresses.next();
        if (!replica) throw new Unavailable('a service has no address');
        const { body } = await send(new URL('/openapi.json', url), {
          dispatcher: replica.ownPool,
          signal: AbortSignal.timeout(2_000),
        });
        return (await body.json()) as ApiDocument;
      } catch (cause) {
        throw new Unavailable('a service did not describe itself', { cause });
      }
    },
    [Symbol.asyncDispose]: () => addresses.close(),
  };
}
