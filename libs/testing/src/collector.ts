import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { serve } from './listen.ts';

type Attribute = { key: string; value: { stringValue?: string; intValue?: string | number; doubleValue?: number } };

export type CollectedSpan = {
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: number;
  startMs: number;
  durationMs: number;
  attributes: Record<string, string>;
};

export type Collector = Awaited<ReturnType<typeof startCollector>>;

/** A collector that keeps what processes send (OTLP over HTTP): spans as JSON, everything as text for a search. */
export async function startCollector() {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const server = await serve(async (request, response) => {
    const raw = Buffer.concat(await Array.fromAsync(request));
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    bodies.push(body.toString('latin1'));
    if (request.url === '/v1/traces') spans.push(...readSpans(JSON.parse(body.toString())));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  return {
    ...server,
    spans,
    bodies,
    /** For a process that shall send everything here at once. */
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: server.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER_ARG: '1',
      OTEL_BSP_SCHEDULE_DELAY: '200',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
      OTEL_METRIC_EXPORT_TIMEOUT: '1000',
    },
    /** The spans of the trace that this finds one of, once enough have come. */
    async trace(isWanted: (span: CollectedSpan) => boolean, isWhole: (spans: CollectedSpan[]) => boolean) {
      for (let tries = 0; tries < 150; tries += 1) {
        const found = spans.find(isWanted);
        const trace = found ? spans.filter(({ traceId }) => traceId === found.traceId) : [];
        if (found && isWhole(trace)) return trace;
        await sleep(200);
      }
      throw new Error(`no such trace among ${spans.map(({ service, name }) => `${service}: ${name}`).join('; ')}`);
    },
  };
}

function readSpans({ resourceSpans = [] }): CollectedSpan[] {
  type Sent = {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: Attribute[];
      }[];
    }[];
  };
  return (resourceSpans as Sent[]).flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => {
        const startMs = Number(span.startTimeUnixNano) / 1e6;
        return {
          service: record(resource.attributes)['service.name'] ?? '',
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId || undefined,
          name: span.name,
          kind: span.kind,
          startMs,
          durationMs: Number(span.endTimeUnixNano) / 1e6 - startMs,
          attributes: record(span.attributes),
        };
      }),
    ),
  );
}

function record(attributes: Attribute[]): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));
}

/** The spans of one trace as an indented list, in the order in which they began. */
export function spanTree(spans: CollectedSpan[]): string {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const lines = (parent: string | undefined, depth: number): string[] =>
    spans
      .filter(({ parentSpanId }) => (parent === undefined ? !known.has(parentSpanId ?? '') : parentSpanId === parent))
      .toSorted((one, other) => one.startMs - other.startMs)
      .flatMap(({ spanId, name, service, durationMs, attributes }) => {
        const status = attributes['http.response.status_code'];
        const store = attributes['db.system.name'] ?? attributes['mayfly.blob_store'];
        const about = [service, store, status].filter(Boolean).join(', ');
        return [`${'  '.repeat(depth)}${name}  (${about})  ${durationMs.toFixed(1)} ms`, ...lines(spanId, depth + 1)];
      });
  return lines(undefined, 0).join('\n');
}
