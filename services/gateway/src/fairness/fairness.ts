import type { Config } from '@mayfly/shared/config';
import { HttpError } from '@mayfly/shared/errors';
import type { bodySettings } from '@mayfly/shared/settings';
import type { FastifyRequest } from 'fastify';
import type { App, GatewayDeps } from '../deps.ts';
import { clientOf } from '../limits/keys/client-address.ts';
import { largestBody, type Route } from '../routes.ts';
import type { fairnessSettings } from '../settings.ts';
import { openBodyRoom, SMALL_BODY_BYTES } from './body-room.ts';
import { type Exchange, openExchanges } from './exchanges.ts';
import { type Fault, watchSlowClients } from './slow-clients.ts';

export type FairnessSettings = Config<typeof fairnessSettings & typeof bodySettings>;

/** Of the bytes that bodies may take in a process, one client gets so many. */
const CLIENTS_SHARE = 1 / 4;

/**
 * Nobody gets more than a share of this process, however it is asked: of its requests under way, of the memory that bodies
 * take, and of its time. Over it 429; whoever is too slow is cut (408 while the body is on its way). Decisions
 * requests-under-way and least-rate.
 */
export function beFair(
  app: App,
  settings: FairnessSettings,
  { limits, logger }: Pick<GatewayDeps, 'limits' | 'logger'>,
) {
  const exchanges = openExchanges(settings.REQUESTS_PER_CLIENT_MAX);
  const rules = {
    rateMin: settings.TRANSFER_RATE_MIN,
    windowMs: settings.TRANSFER_RATE_WINDOW_SEC * 1000,
    bodyWindowMs: settings.BODY_RATE_WINDOW_SEC * 1000,
    longestMs: settings.TRANSFER_MAX_SEC * 1000,
  };
  // What holds the room cannot stand still for longer than the others wait.
  const enterBodyRoom = openBodyRoom(settings.BODY_BUFFER_BYTES * CLIENTS_SHARE, rules.bodyWindowMs);
  const stopWatching = watchSlowClients(exchanges, rules, (exchange, fault) => {
    logger.info({ fault }, 'a client was too slow and is cut');
    cut(app, exchange, fault);
  });
  app.addHook('onClose', async () => stopWatching());

  app.addHook('onRequest', (request, reply, done) => {
    const { isForMonitors, route } = request.routeOptions.config;
    // A client may have left while the limits were asked.
    if (isForMonitors || reply.raw.destroyed) return done();
    const exchange = exchanges.begin({
      client: clientOf(request.address),
      request: request.raw,
      response: reply.raw,
      isPayload: route?.payload === 'request',
    });
    if (!exchange) return done(tooMany());
    const bytes = collectedBytes(request, route, limits);
    if (bytes <= SMALL_BODY_BYTES) return done();
    void enterBodyRoom(exchange, bytes).then((isThere) => done(isThere ? undefined : tooMany()));
  });
}

/** Its own requests are what a client waits for: they may be over any moment. */
function tooMany() {
  return new HttpError(429, 'Too many requests', { headers: { 'retry-after': '1' } });
}

/** What the service behind the gateway collects of the body: all that is not streamed. */
function collectedBytes({ headers }: FastifyRequest, route: Route | undefined, limits: GatewayDeps['limits']): number {
  if (!route || route.payload === 'request') return 0;
  if (headers['transfer-encoding'] !== undefined) return largestBody(route, limits);
  return Number(headers['content-length'] ?? 0);
}

/** A sender whose answer has not begun is told so; a reader's connection just breaks, and what waits for it is dropped. */
function cut({ server }: App, { request, response }: Exchange, fault: Fault) {
  const { socket } = request;
  if (fault === 'late' && response.socket === socket && !response.headersSent)
    server.emit(
      'clientError',
      Object.assign(new Error('the body was too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
      socket,
    );
  else socket.resetAndDestroy();
}
