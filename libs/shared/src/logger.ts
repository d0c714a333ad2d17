import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

/** One JSON line per event on standard output; readable lines when that is a terminal. */
export function buildLogger(config: { LOG_LEVEL: string }, service: string): Logger {
  const options = { level: config.LOG_LEVEL, base: { service } };
  return process.stdout.isTTY ? pino(options, pretty({ ignore: 'pid,hostname', sync: true })) : pino(options);
}
