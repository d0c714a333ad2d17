import { trace } from '@opentelemetry/api';
import { type Logger, pino } from 'pino';

export type { Logger };

/** For people; loaded only where they read. */
const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : undefined;

/** One JSON line per event on standard output; readable lines when that is a terminal. */
export function buildLogger(config: { LOG_LEVEL: string }, service: string): Logger {
  const options = { level: config.LOG_LEVEL, base: { service }, mixin: currentTrace };
  return pretty ? pino(options, pretty({ ignore: 'pid,hostname', sync: true })) : pino(options);
}

/** Joins a line with its trace; nothing when there is none. */
function currentTrace() {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
