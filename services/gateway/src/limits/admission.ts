import { RateLimiterRes } from 'rate-limiter-flexible';

/** A name that is an HMAC already. Around midnight there is an old one, too, under the key of the day that ends. */
export type Name = { name: string; old: string };

/**
 * How many times as many wrong tokens as a client may come from each of its networks, the narrowest first: a /64, a /56 and a
 * /48 of IPv6, or the one of an IPv4 address. Decision guesses-count-at-start.
 */
export const SHARES = [1, 4, 8] as const;
/** Which of its networks an item's budget knows as one guesser, counted from 1; the last one where there are fewer. */
export const GUESSER = 2;
/** How long an item is locked that has no wrong tokens left today. */
export const UNTIL_MIDNIGHT = -1;

/** What is asked about wrong tokens: whose attempt this is, at which item. Decision guesses-count-at-start. */
export type Guard = {
  /** Whether this process has no other attempt under way in these networks: then it is not worth reserving. */
  isAlone: boolean;
  /** The networks that the client is in, the narrowest first. */
  networks: Name[];
  /** The item's budget. */
  item: string;
};

/** What a request asks for besides its place in the window. Keys are HMACs already. */
export type Demands = {
  /** The log of the client's requests; without it the request has its place already. */
  rate?: Name;
  /** Whether the new names count, should neither exist. */
  isSwitched: boolean;
  /** Bytes that the request wants to store, and when the day's count may be forgotten. */
  quota?: { key: string; bytes: number; expireSec: number };
  guard?: Guard;
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
  /** Wrong tokens for one item from all clients in a UTC day; 0 is no limit. */
  itemFailuresMax: number;
};

/** What was decided: requests in the window, wait, quota exceeded, locked for, attempts to be waited for, reserved. */
export type Decision = readonly [number, number, number?, number?, number?, number?];

/** The library's result with what else was decided in the same step. Decision one-limiter-script. */
export class Admission extends RateLimiterRes {
  /** There were too many requests in the window. */
  readonly isLimited: boolean;
  readonly isQuotaExceeded: boolean;
  /** How long the item is locked for this client, in milliseconds, or UNTIL_MIDNIGHT; 0 when it is not. */
  readonly lockedMs: number;
  /** Whether an attempt was reserved, under which name. */
  readonly isReserved: boolean;
  /** Whether it depends on attempts that are under way. */
  readonly mustWait: boolean;
  /** Where bytes and attempts were reserved, and thus where they are given back. */
  readonly keptBy: 'redis' | 'memory';
  readonly owner: string;

  constructor(
    keptBy: Admission['keptBy'],
    limits: Limits,
    [count, waitMs, isQuotaExceeded = 0, lockedMs = 0, mustWait = 0, isReserved = 0]: Decision,
    owner = '',
  ) {
    super(Math.max(limits.max - count, 0), waitMs, count, count === 1);
    this.isLimited = limits.max > 0 && count > limits.max;
    this.keptBy = keptBy;
    this.isQuotaExceeded = isQuotaExceeded === 1;
    this.lockedMs = lockedMs;
    this.mustWait = mustWait === 1;
    this.isReserved = isReserved === 1;
    this.owner = owner;
  }

  /** The same decision about a request that has its place in the window already. */
  at(count: number, waitMs: number, limits: Limits): Admission {
    const { keptBy, isQuotaExceeded, lockedMs, mustWait, isReserved, owner } = this;
    const decision = [isQuotaExceeded, lockedMs, mustWait, isReserved].map(Number) as [number, number, number, number];
    return new Admission(keptBy, limits, [count, waitMs, ...decision], owner);
  }
}
