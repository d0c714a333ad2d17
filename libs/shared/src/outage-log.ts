import type { Logger } from './logger.ts';

const EVERY_MS = 30_000;

/** Reasons that were logged, since when, and how often they came again. */
const logged = new Map<string, { at: number; again: number }>();

/** A store that is away fails every request for the same reason: one warning when it begins, then one every half minute. */
export function logOutage(logger: Pick<Logger, 'warn'>, cause: unknown): void {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const now = performance.now();
  const last = logged.get(reason);
  if (last && now - last.at < EVERY_MS) {
    last.again++;
    return;
  }
  logged.set(reason, { at: now, again: 0 });
  logger.warn({ err: cause, again: last?.again ?? 0 }, 'service unavailable');
}
