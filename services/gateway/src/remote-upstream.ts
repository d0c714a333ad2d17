import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { drain } from '@mayfly/shared/drain';
import { HttpError, serviceUnavailable, Unavailable } from '@mayfly/shared/errors';
import type { Logger } from '@mayfly/shared/logger';
import { logOutage } from '@mayfly/shared/outage-log';
import { type Dispatcher, request as send } from 'undici';
import { type Lookup, MOST_REQUESTS, openAddresses, type Replica } from './addresses.ts';
import { endToEnd } from './hop-headers.ts';
import type { ApiDocument, Upstream } from './upstream.ts';

const UNREACHABLE = [
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** A service on the network. Bodies stream both ways; a client that leaves ends the request there. */
export function remoteUpstream(url: string, logger: Logger, lookup?: Lookup): Upstream & AsyncDisposable {
  const addresses = openAddresses(url, logger, lookup);
  const replicaAway = changes(logger, url);

  async function handle(request: IncomingMessage, response: ServerResponse, tried = new Map<Replica, Error>()) {
    try {
      const replica = await addresses.next(new Set(tried.keys()));
      if (response.destroyed) return;
      if (!replica) {
        refuse(request, response, serviceUnavailable([...tried.values()].at(-1))); // each is in the log as away
        return;
      }
      if (replica.running >= MOST_REQUESTS) throw new Unavailable('a service has all it can take');
      forward(replica, request, response, {
        isThere: () => replicaAway(replica),
        leaves: () => addresses.leaves(replica),
        // Decision 44: not a byte was sent, so this is still the first try.
        unreached(error) {
          replicaAway(replica, error);
          void handle(request, response, tried.set(replica, error));
        },
      });
    } catch (error) {
      logOutage(logger, error);
      refuse(request, response, serviceUnavailable(error));
    }
  }

  async function isReadyAt({ pool }: Replica) {
    const dispatcher = pool;
    try {
      const signal = AbortSignal.timeout(2_000);
      const { statusCode, body } = await send(new URL('/readyz', url), { dispatcher, signal });
      await body.dump();
      return statusCode === 200;
    } catch {
      return false; // not reachable is the answer
    }
  }

  return {
    handle: (request, response) => void handle(request, response),
    async isReady() {
      try {
        const answers = await Promise.all((await addresses.current()).map(isReadyAt));
        return answers.includes(true);
      } catch {
        return false; // its name is not known
      }
    },
    async describe() {
      try {
        const replica = await addresses.next();
        if (!replica) throw new Unavailable('a service has no address');
        const { body } = await send(new URL('/openapi.json', url), {
          dispatcher: replica.pool,
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

/** Tells the log when a replica goes and when it is back, not at every request in between. */
function changes(logger: Logger, service: string) {
  return (replica: Replica, error?: Error) => {
    const wasAway = replica.awaySince !== undefined;
    replica.awaySince = error ? performance.now() : undefined;
    const about = { service, address: replica.address, code: (error as NodeJS.ErrnoException | undefined)?.code };
    if (error && !wasAway) logger.warn(about, 'a service is away');
    if (!error && wasAway) logger.info(about, 'a service is back');
  };
}

function forward(
  replica: Replica,
  request: IncomingMessage,
  response: ServerResponse,
  found: { isThere: () => void; leaves: () => void; unreached: (error: Error) => void },
) {
  let exchange: Dispatcher.DispatchController | undefined;
  let bytesLeft = Number.NaN; // of an answer whose length is known
  const { method = 'GET', url = '/', headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (hasBody && headers.expect) response.writeContinue();

  replica.running += 1;
  replica.pool.dispatch(
    {
      path: url,
      method: method as Dispatcher.HttpMethod,
      headers: endToEnd(headers),
      body: hasBody ? bodyOf(request) : null,
    },
    {
      onRequestStart(controller) {
        exchange = controller;
        if (response.destroyed) controller.abort(clientGone());
      },
      onResponseStart(controller, statusCode, responseHeaders) {
        if (statusCode < 200) return;
        found.isThere();
        if (String(responseHeaders.connection).toLowerCase() === 'close') found.leaves();
        response.writeHead(statusCode, endToEnd(responseHeaders));
        bytesLeft = Number(responseHeaders['content-length'] ?? Number.NaN);
      },
      onResponseData(controller, chunk) {
        bytesLeft -= chunk.length;
        // A small answer leaves in one piece.
        if (bytesLeft === 0) response.end(chunk);
        else if (!response.write(chunk)) {
          controller.pause();
          response.once('drain', () => controller.resume());
        }
      },
      onResponseEnd() {
        replica.running -= 1;
        if (!response.writableEnded) response.end();
        drain(request); // a service may answer before it has read the body
      },
      onResponseError(_controller, error) {
        replica.running -= 1;
        if (response.destroyed) return;
        if (!exchange && isUnreachable(error)) {
          found.unreached(error);
          return;
        }
        // A broken answer must not look like a short one: the client's connection breaks, too.
        if (response.headersSent) response.destroy();
        else refuse(request, response, faultOf(error));
      },
    },
  );
  response.on('close', () => {
    if (!response.writableFinished) exchange?.abort(clientGone());
  });
}

/**
 * The body as it comes. undici may stop reading (an early answer) without ending the client's connection, and it cannot take
 * a short chunked body for one of known length, as it does with streams.
 */
function bodyOf(request: IncomingMessage): Readable {
  return request.iterator({ destroyOnReturn: false }) as unknown as Readable; // any async iterable is a body to undici
}

function clientGone() {
  return new Error('the client has gone');
}

const isUnreachable = (error: Error) => UNREACHABLE.includes((error as NodeJS.ErrnoException).code ?? '');

function faultOf(error: Error): HttpError {
  if ((error as NodeJS.ErrnoException).code === 'UND_ERR_HEADERS_TIMEOUT') return new HttpError(504);
  return isUnreachable(error) ? serviceUnavailable(error) : new HttpError(502);
}

function refuse(request: IncomingMessage, response: ServerResponse, { statusCode, headers, body }: HttpError) {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(statusCode, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
  drain(request);
}
