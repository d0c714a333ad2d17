import { context, type Histogram, metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { Unavailable } from '../errors.ts';

/** Seconds; from what one statement takes to where clients have long given up. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type Operations = {
  /** Runs the work as a span of the current trace, and counts how long it took and how it ended. */
  run<T>(operation: string, work: () => Promise<T>): Promise<T>;
};

/** The operations of one kind of store, as a histogram and as spans. The attributes are of the store, never of an item. */
export function observeOperations(
  metric: { name: string; description: string },
  attributes: Record<string, string>,
  operationKey = 'db.operation.name',
): Operations {
  const meter = metrics.getMeter('mayfly');
  const tracer = trace.getTracer('mayfly');
  const duration: Histogram = meter.createHistogram(metric.name, {
    description: metric.description,
    unit: 's',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  return {
    async run(operation, work) {
      const named = { ...attributes, [operationKey]: operation };
      const parent = context.active();
      // Without a request or a job around it nobody would find the span.
      const span = trace.getSpan(parent)
        ? tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes: named }, parent)
        : undefined;
      const start = performance.now();
      let error: unknown;
      try {
        return await (span ? context.with(trace.setSpan(parent, span), work) : work());
      } catch (thrown) {
        error = thrown;
        throw thrown;
      } finally {
        const failed = error === undefined ? {} : { 'error.type': errorType(error) };
        duration.record((performance.now() - start) / 1000, { ...named, ...failed });
        if (error !== undefined) span?.setAttributes(failed).setStatus({ code: SpanStatusCode.ERROR });
        span?.end();
      }
    },
  };
}

/** A name from a short list: messages may hold addresses and ids. */
export function errorType(error: unknown): string {
  if (error instanceof Unavailable) return 'unavailable';
  return error instanceof Error && /^[A-Za-z]{1,40}$/.test(error.name) ? error.name : '_OTHER';
}
