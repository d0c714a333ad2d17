import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyRequest, LogController } from 'fastify';
import { drain } from './drain.ts';
import { sendError } from './error-answers.ts';
import { HttpError } from './errors.ts';
import type { App } from './fastify-app.ts';
import { BASE64, isBase64 } from './fields.ts';
import { closeOnlyIdle } from './idle-connections.ts';
import { type BodyBudget, collectJsonBodies, openBodyBudget } from './json-bodies.ts';
import type { Logger } from './logger.ts';
import { answerBrokenRequest, sendRaw } from './raw-answers.ts';
import { observeRequests } from './telemetry/requests.ts';

/** The request that a connection is reading or answering. */
const READING = Symbol('reading');

declare module 'node:net' {
  interface Socket {
    [READING]?: IncomingMessage;
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    tooLarge?: string;
    /** The handler itself tells a client that sent `Expect: 100-continue` to go on. */
    continuesItself?: boolean;
  }
}

export type { App };

/** How long a client may be slow. Tests set these; everybody else has the defaults. */
export type Patience = {
  /** Without a byte in either direction. An upload may take hours, as long as it moves. */
  idleMs: number;
  headersMs: number;
  /** How often unfinished headers are looked for. */
  checkEveryMs: number;
};

/** What a connection reads and writes ahead; a piece that the system has read is taken as it is, up to 64 KiB. */
const READ_AHEAD_BYTES = 16 * 1024;

const PATIENCE: Patience = { idleMs: 120_000, headersMs: 15_000, checkEveryMs: 5_000 };

/**
 * An HTTP application as every service has it: JSON `{ error }` for everything that goes wrong, no HEAD routes, no
 * coercion, limits on slow clients, and bodies that are answered early are drained. Contract: Errors.
 */
export function createApp(options: {
  logger: Logger;
  notFound?: (request: FastifyRequest) => HttpError;
  /** Reached from outside: a request's id is made here, whatever the client says. */
  isPublic?: boolean;
  patience?: Partial<Patience> | undefined;
  /** What the JSON bodies of the process may take together; by itself each application has the default. */
  bodies?: BodyBudget | undefined;
  /** The name that its requests are measured under; none, and they are not. */
  service?: string;
  /** Proxies that may name the client, its host and its scheme: how many, or which. Decision client-address. */
  trustProxy?: number | string[];
}): App {
  const patience = { ...PATIENCE, ...options.patience };
  const app = Fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }), // the gateway writes the line per request
    trustProxy: trusted(options.trustProxy ?? 0),
    exposeHeadRoutes: false,
    return503OnClosing: false, // what comes on an open connection while the server closes is served like the rest
    requestIdHeader: options.isPublic ? false : 'x-request-id',
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 16_384 },
    rewriteUrl: (request) => wellFormed(request.url ?? '/'),
    frameworkErrors: (error, request, reply) => sendError(error, request, reply),
    clientErrorHandler(error, socket) {
      answerBrokenRequest(error, socket);
      // What came before the broken bytes must not pass for a whole request: nobody reads it any more.
      socket[READING]?.destroy(error);
    },
    // requestTimeout stays 0: an upload may take hours. A silent connection is cut by connectionTimeout.
    requestTimeout: 0,
    connectionTimeout: patience.idleMs,
    keepAliveTimeout: 75_000,
    http: {
      highWaterMark: READ_AHEAD_BYTES,
      headersTimeout: patience.headersMs,
      connectionsCheckingInterval: patience.checkEveryMs,
      requireHostHeader: false,
    },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        verbose: true,
        code: { regExp },
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  if (options.service) observeRequests(app, { service: options.service, isPublic: options.isPublic ?? false });
  closeOnlyIdle(app.server);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request) => {
    throw options.notFound?.(request) ?? new HttpError(404);
  });
  collectJsonBodies(app, options.bodies ?? openBodyBudget());
  continueOnlyWanted(app);
  app.addHook('onRequest', (request, reply, done) => {
    request.raw.socket[READING] = request.raw;
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    // Node's own check (switched off above) would answer without a body. RFC 9112, section 3.2.
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) throw new HttpError(400);
    // The parser refuses a coding that it cannot read only after its headers: by then a service could have acted on them.
    if ((request.headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') throw new HttpError(400);
    // Before a byte of the body is read, and before 100-continue.
    if (Number(request.headers['content-length']) > request.routeOptions.bodyLimit) throw new HttpError(413);
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    drain(request.raw);
    done();
  });
  app.addHook('preClose', async () => {
    // A connection that was busy when the close began stays open for its keep-alive time unless it is closed when idle.
    const timer = setInterval(() => app.server.closeIdleConnections(), 100);
    app.server.once('close', () => clearInterval(timer));
  });
  return app;
}

/** Patterns are regular expressions, but for the one that is asked of long texts. */
function regExp(pattern: string, flags: string) {
  const expression = new RegExp(pattern, flags);
  return pattern === BASE64 ? Object.assign(expression, { test: isBase64 }) : expression;
}
regExp.code = 'regExp'; // what code that is written to a file would say; none is

/** So many proxies from here outwards, or those with these addresses. Without any the header counts for nothing. */
function trusted(proxies: number | string[]): string[] | false | ((address: string, hop: number) => boolean) {
  if (typeof proxies !== 'number') return proxies;
  return proxies > 0 && ((_address, hop) => hop < proxies);
}

/** Percent signs that begin no escape become literal ones, so that a malformed id gets the endpoint's own 404. */
function wellFormed(url: string): string {
  if (!url.startsWith('/')) return `/${url}`; // the absolute form is for proxies: no route has such a path
  if (!url.includes('%')) return url;
  const end = url.indexOf('?');
  const path = end === -1 ? url : url.slice(0, end);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length); // not an escape: the sign itself was meant
  }
}

/** The client waits to be told that its body is wanted. */
export const awaitsContinue = (request: FastifyRequest) => request.raw.headers.expect?.toLowerCase() === '100-continue';

/** `Expect: 100-continue`: the client is told to go on only when its headers were accepted and the body is wanted. */
function continueOnlyWanted(app: Pick<App, 'server' | 'addHook' | 'routing'>) {
  app.server.on('checkContinue', (request, response) => app.routing(request, response));
  app.server.on('checkExpectation', (_request, response) => sendRaw(response, new HttpError(417)));
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (awaitsContinue(request) && !request.routeOptions.config.continuesItself) reply.raw.writeContinue();
    done();
  });
}
