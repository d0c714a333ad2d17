import { createApp } from '@mayfly/shared/app';
import { cutBy, cutOff } from '@mayfly/shared/cut-off';
import { describedEndpoints } from '@mayfly/shared/describe-api';
import { HttpError } from '@mayfly/shared/errors';
import { handTraceOn, requestFacts } from '@mayfly/shared/telemetry/requests';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { configEndpoint } from './config-endpoint.ts';
import { cors } from './cors.ts';
import { guardCreation } from './creation-guard.ts';
import type { App, GatewayDeps } from './deps.ts';
import { beFair } from './fairness/fairness.ts';
import { health } from './health.ts';
import { limitRequests } from './limits/http/limit-requests.ts';
import { requestLimits } from './limits/limits.ts';
import { countSessions } from './open-sessions.ts';
import { reference } from './reference.ts';
import { limitReports } from './report-limit.ts';
import { methodsOf, OWN, type Route, routesWith, WORK } from './routes.ts';
import { SECURITY_HEADERS } from './security-headers.ts';
import { securityTxt } from './security-txt.ts';
import { SIGN_IN, sessionEndpoints } from './sign-in/session-endpoints.ts';
import type { BeforeAnswer, Upstream } from './upstream.ts';
import { webPages } from './web-app.ts';
import { whenClosed } from './when-closed.ts';
import { clientWork } from './work/work.ts';
import { workEndpoint } from './work/work-endpoint.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's, as far as the proxies in front are trusted. Decision client-address. */
    address: string;
    /** What has to be done before a service's answer leaves. */
    beforeAnswer: BeforeAnswer | undefined;
    isLogged: boolean;
  }
}

/** The public application. It opens no body: requests of the contract go to their service as they come. */
export function buildGateway(deps: GatewayDeps, requests = requestLimits(deps)): App {
  const routes = routesWith(deps.limits, deps.creationGuard !== undefined);
  const work = deps.settings.WORK === 'adaptive' ? clientWork({ ...deps, requests }) : undefined;
  const signIn = deps.creationGuard?.signIn ? Object.values(SIGN_IN) : [];
  const allowed = methodsOf([...Object.values(OWN), ...signIn, ...(work ? [WORK] : []), ...routes]);
  const app = createApp({
    logger: deps.logger,
    notFound: ({ url }) => notFound(allowed(url)),
    isPublic: true,
    service: 'gateway',
    patience: deps.patience,
    trustProxy: deps.settings.TRUST_PROXY,
  });
  app.server.on('timeout', (socket) => {
    cutOff(socket, 'time limit');
    socket.destroy(); // as Node does where nobody listens
  });
  app.decorateRequest('address', '').decorateRequest('beforeAnswer', undefined).decorateRequest('isLogged', false);
  app.addHook('onResponse', (request, reply, done) => {
    writeLine(request, reply);
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    request.address = request.ip; // which is worked out anew whenever it is asked for
    reply.header('x-request-id', request.id).headers(SECURITY_HEADERS);
    whenClosed(reply.raw, () => {
      if (!request.isLogged) writeLine(request, reply); // it was cut off
    });
    done();
  });
  cors(app, deps.corsOrigins);
  limitRequests(app, requests, deps.limits, work);
  guardCreation(app, deps, requests);
  countSessions(app, requests, deps);
  limitReports(app, requests, deps);
  beFair(app, deps.settings, deps);
  describedEndpoints(app, (scope) => {
    health(scope, deps);
    configEndpoint(scope, deps);
    if (work) workEndpoint(scope, work);
    sessionEndpoints(scope, deps, requests);
  });
  reference(app, deps);
  securityTxt(app, deps.settings, deps);
  if (deps.web) webPages(app, deps.web);
  for (const route of routes) {
    const { method, url, service } = route;
    const upstream = deps.upstreams[service];
    app.route({
      method,
      url,
      config: { route },
      bodyLimit: Number.MAX_SAFE_INTEGER, // limitRequests counts first, and refuses then
      onRequest: (request, reply) => handOver(upstream, route, request, reply, deps.baseUrl), // it never calls done
      handler: async () => {}, // the hook above has answered
    });
  }
  return app;
}

function handOver(
  upstream: Upstream,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  baseUrl: string | undefined,
) {
  // Internal headers are set here and nowhere else: what came from outside under such names is dropped.
  for (const name in request.raw.headers) if (name.startsWith('x-mayfly-')) delete request.raw.headers[name];
  request.raw.headers['x-request-id'] = request.id;
  if (request.newSlot !== undefined) request.raw.headers['x-mayfly-slot'] = request.newSlot;
  request.raw.headers['x-mayfly-base-url'] = baseUrl?.replace(/\/+$/, '') ?? `${request.protocol}://${request.host}`;
  handTraceOn(request, request.raw.headers);
  const headers = reply.getHeaders();
  for (const name in headers) if (headers[name] !== undefined) reply.raw.setHeader(name, headers[name]);
  reply.hijack();
  upstream.handle(request.raw, reply.raw, route, request.beforeAnswer);
}

function notFound(allowedMethods: string[]): HttpError {
  if (allowedMethods.length === 0) return new HttpError(404);
  return new HttpError(405, undefined, { headers: { allow: allowedMethods.join(', ') } });
}

/**
 * One line per request, also of one that was cut off: then it says by whom, and has no status when no answer had begun. The
 * route's pattern stands for the address: ids, queries and addresses are not logged.
 */
function writeLine(request: FastifyRequest, reply: FastifyReply) {
  request.isLogged = true;
  const cut = cutBy(reply.raw);
  request.log.info(
    {
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      ...(reply.raw.headersSent ? { status: reply.raw.statusCode } : {}),
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      ...requestFacts(request),
      ...(cut ? { cutBy: cut } : {}),
    },
    'request',
  );
}
