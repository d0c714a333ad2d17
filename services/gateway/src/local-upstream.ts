import { inTime } from '@mayfly/shared/admin';
import type { App } from '@mayfly/shared/app';
import { type HttpError, serviceUnavailable, Unavailable } from '@mayfly/shared/errors';
import { logOutage } from '@mayfly/shared/outage-log';
import type { FastifyReply } from 'fastify';
import { namedInConnection } from './hop-headers.ts';
import { refuse } from './refuse.ts';
import { openSlots } from './slots.ts';
import { type BeforeAnswer, GIVE_BACK, type Upstream } from './upstream.ts';
import { whenClosed } from './when-closed.ts';

const BEFORE_ANSWER = Symbol('before answer');

declare module 'node:http' {
  interface IncomingMessage {
    [BEFORE_ANSWER]?: BeforeAnswer | undefined;
  }
}

/** A service of this process: the raw request is handed over by a function call. */
export async function localUpstream(service: App, mostRequests?: number): Promise<Upstream> {
  service.addHook('onSend', (request, reply, payload, done) => {
    const givenBack = reply.getHeader(GIVE_BACK);
    if (givenBack !== undefined) reply.removeHeader(GIVE_BACK);
    const held = request.raw[BEFORE_ANSWER]?.(reply.statusCode, givenBack as string | undefined);
    if (held) held.then((other) => done(null, other ? inPlaceOf(reply, other) : payload), done);
    else done(null, payload);
  });
  await service.ready();
  const slots = openSlots(mostRequests);
  return {
    handle(request, response, route, beforeAnswer) {
      if (response.destroyed) return; // the client left while the limits were asked
      if (!slots.hasRoom(route)) {
        const full = new Unavailable('a service has all it can take');
        logOutage(service.log, full);
        refuse(request, response, serviceUnavailable(full));
        return;
      }
      whenClosed(response, slots.take(route));
      for (const name of namedInConnection(request.headers)) delete request.headers[name]; // as on the network
      request[BEFORE_ANSWER] = beforeAnswer;
      service.routing(request, response);
    },
    isReady: () => inTime(async () => (await service.inject('/readyz')).statusCode === 200),
    replicas: () => ({ fit: 1, out: 0 }),
    describe: async () => (await service.inject('/openapi.json')).json(),
  };
}

/** The text of the other answer. */
function inPlaceOf(reply: FastifyReply, { statusCode, headers, body }: HttpError): string {
  reply.code(statusCode).headers(headers);
  return JSON.stringify(body);
}
