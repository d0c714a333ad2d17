import { RateLimiterRes } from 'rate-limiter-flexible';

/** What a request asks for besides its place in the window. Keys are HMACs already. */
export type Claims = {
  /** Bytes that the request wants to store, and when the day's count may be forgotten. */
  quota?: { key: string; bytes: number; expireSec: number };
  /** The count of wrong tokens of this client for this item. */
  failuresKey?: string;
};

export type Limits = {
  /** Requests in a window; 0 is no limit. */
  max: number;
  windowMs: number;
  /** Bytes in a UTC day; 0 is no limit. */
  quotaBytes: number;
  /** Wrong tokens for one item from one client; 0 is no limit. */
  failuresMax: number;
  failuresWindowMs: number;
};

/** The library's result with what else was decided in the same step. */
export class Admission extends RateLimiterRes {
  readonly isQuotaExceeded: boolean;
  /** How long the item is locked for this client, in milliseconds; 0 when it is not. */
  readonly lockedMs: number;
  /** Where bytes were reserved, and thus where they are given back. */
  readonly keptBy: 'redis' | 'memory';

  constructor(
    keptBy: Admission['keptBy'],
    limits: Limits,
    [count, waitMs, isQuotaExceeded, lockedMs]: readonly [number, number, number, number],
  ) {
    super(Math.max(limits.max - count, 0), waitMs, count, count === 1);
    this.keptBy = keptBy;
    this.isQuotaExceeded = isQuotaExceeded === 1;
    this.lockedMs = lockedMs;
  }
}
