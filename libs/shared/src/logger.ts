import { trace } from '@opentelemetry/api';
import { type LogFn, type Logger, pino } from 'pino';
import { errorForLog, masked } from './error-for-log.ts';
import { standardOutput } from './standard-output.ts';

export type { Logger };

/** For people; loaded only where they read. */
const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : undefined;

/** Whatever logs an error: no id of an item gets into the log with it. */
export const LOG_OPTIONS = {
  mixin: currentTrace,
  serializers: { err: errorForLog },
  hooks: { logMethod: logMasked },
};

/** One JSON line per event on standard output; readable lines when that is a terminal. */
export function buildLogger(config: { LOG_LEVEL: string }, service: string): Logger {
  const options = { ...LOG_OPTIONS, level: config.LOG_LEVEL, base: { service } };
  return pino(options, pretty ? pretty({ ignore: 'pid,hostname', sync: true }) : standardOutput());
}

/** Joins a line with its trace; nothing when there is none. */
function currentTrace() {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}

/** pino takes the message of an error for a line that has none of its own. */
function logMasked(this: Logger, args: Parameters<LogFn>, method: LogFn) {
  const [facts, message] = args as unknown[];
  const error = facts instanceof Error ? facts : (facts as { err?: Error } | undefined)?.err;
  if (error) args[1] = masked(String(message ?? error.message ?? ''));
  method.apply(this, args);
}
