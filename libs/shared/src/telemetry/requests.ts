import type { IncomingMessage } from 'node:http';
import {
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import type { App } from '../fastify-app.ts';
import { SECONDS } from './operations.ts';

type Observed = { span: Span; isTraced: boolean; startedAt: number; readBefore: number; writtenBefore: number };

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined when its application, or such a request, is not observed. */
    observed: Observed | undefined;
  }
}

/** What a request was, for its line in the log. */
export type RequestFacts = { bytesIn: number; bytesOut: number; trace_id?: string };

/** What probes and the gateway ask a process: not work that it does for anybody. */
const UNOBSERVED = new Set(['/readyz', '/livez', '/openapi.json']);
const TRACE_HEADERS = ['traceparent', 'tracestate', 'baggage'];

/**
 * A span and the rate, errors and duration of every request. A public application begins every trace itself: what clients say
 * about traces is dropped. One behind it goes on with the trace that the gateway hands over.
 */
export function observeRequests(app: App, { service, isPublic }: { service: string; isPublic: boolean }) {
  const meter = metrics.getMeter('mayfly');
  const tracer = trace.getTracer('mayfly');
  const duration = meter.createHistogram('http.server.request.duration', {
    description: 'Time from the first byte of a request to the last of its answer',
    unit: 's',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  const active = meter.createUpDownCounter('http.server.active_requests', {
    description: 'Requests that are being answered',
  });
  const bytes = meter.createCounter('mayfly.http.bytes', {
    description: 'Bytes of request bodies that were received, and of answers that were sent',
    unit: 'By',
  });

  app.decorateRequest('observed', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    const [method, route] = [methodOf(request), routeOf(request)];
    if (UNOBSERVED.has(route)) return done();
    const parent = isPublic ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, raw.headers);
    if (isPublic) for (const name of TRACE_HEADERS) if (name in raw.headers) delete raw.headers[name];
    const attributes = { 'http.request.method': method, 'http.route': route, 'mayfly.service': service };
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    const isTraced = trace.isSpanContextValid(span.spanContext());
    const startedAt = performance.now();
    const { bytesRead: readBefore, bytesWritten: writtenBefore } = raw.socket;
    request.observed = { span, isTraced, startedAt, readBefore, writtenBefore };
    active.add(1, attributes);
    reply.raw.on('close', () => {
      active.add(-1, attributes);
      const isCut = !reply.raw.writableFinished;
      // As nginx says it: the client was gone before its answer was.
      const status = isCut && !reply.raw.headersSent ? 499 : reply.raw.statusCode;
      const outcome = {
        ...attributes,
        'http.response.status_code': status,
        ...(isCut ? { 'error.type': 'cut' } : status >= 500 ? { 'error.type': String(status) } : {}),
      };
      const facts = requestFacts(request);
      duration.record((performance.now() - startedAt) / 1000, outcome);
      bytes.add(facts.bytesIn, { ...attributes, 'network.io.direction': 'receive' });
      bytes.add(facts.bytesOut, { ...attributes, 'network.io.direction': 'transmit' });
      span.setAttributes(outcome);
      if (status >= 500 || isCut) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    if (isTraced) context.with(trace.setSpan(parent, span), done);
    else done();
  });
}

/** So far, by what went over the request's connection since it began. */
export function requestFacts({ observed, raw }: FastifyRequest): RequestFacts {
  if (!observed) return { bytesIn: 0, bytesOut: 0 };
  const { bytesRead, bytesWritten } = raw.socket;
  const declared = Number(raw.headers['content-length'] ?? 0);
  return {
    // A small body is read with its headers, before anything could be recorded.
    bytesIn: raw.complete && declared > 0 ? declared : bytesRead - observed.readBefore,
    bytesOut: bytesWritten - observed.writtenBefore,
    ...(observed.isTraced ? { trace_id: observed.span.spanContext().traceId } : {}),
  };
}

/** Hands the trace of a request on in the headers that its service reads. */
export function handTraceOn({ observed }: FastifyRequest, headers: IncomingMessage['headers']) {
  if (observed?.isTraced) propagation.inject(trace.setSpan(ROOT_CONTEXT, observed.span), headers);
}

/** The route's pattern, never the path: that holds ids. */
function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? 'unknown';
}

const METHODS = new Set(['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS']);

/** Clients may make methods up; a label must not be what a client says. */
function methodOf({ method }: FastifyRequest): string {
  return METHODS.has(method) ? method : '_OTHER';
}
