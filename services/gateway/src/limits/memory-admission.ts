import {
  Admission,
  type Decision,
  type Demands,
  GUESSER,
  type Guard,
  type Limits,
  type Name,
  SHARES,
  UNTIL_MIDNIGHT,
} from './admission.ts';

/** Most of each kind that is remembered; the one that came first is forgotten for a new one. */
const MAX_KEYS = 10_000;

/** The same decisions in this process alone, for when Redis is away. Decision limits-without-redis. */
export class MemoryAdmission {
  readonly #limits: Limits;
  readonly #now: () => number;
  // Bounded apart, so that what is cheap to make (a request, a first wrong token) pushes nothing else out.
  readonly #requests = new Map<string, number[]>();
  readonly #failures = new Map<string, number[]>();
  readonly #locks = new Map<string, number[]>();
  readonly #budgets = new Map<string, { all: number; guessers: Set<string> }>();
  readonly #bytes = new Map<string, number>();
  /** Bounded by the requests that this process has under way. */
  readonly #attempts = new Map<string, number>();

  constructor(limits: Limits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  decide({ rate, isSwitched, quota, guard }: Demands): Admission {
    const { max, windowMs, quotaBytes } = this.#limits;
    const now = this.#now();
    const decided = (...decision: Decision) => new Admission('memory', this.#limits, decision);
    let [count, waitMs] = [0, 0];
    if (rate && max > 0) {
      const name = named([this.#requests], rate, isSwitched);
      const log = live(this.#requests.get(name), windowMs, now);
      remember(this.#requests, name, log);
      if (log.length >= max) return decided(log.length + 1, (log[0] ?? now) + windowMs - now);
      log.push(now);
      [count, waitMs] = [log.length, (log[0] ?? now) + windowMs - now];
    }
    const { lockedMs, mustWait } = guard ? this.#judge(guard, isSwitched, now) : { lockedMs: 0, mustWait: false };
    if (lockedMs !== 0 || mustWait) return decided(count, waitMs, 0, lockedMs, mustWait ? 1 : 0);
    if (quota) {
      const used = (this.#bytes.get(quota.key) ?? 0) + quota.bytes;
      if (used > quotaBytes) return decided(count, waitMs, 1);
      remember(this.#bytes, quota.key, used);
    }
    for (const { name } of guard?.networks ?? []) this.#attempts.set(name, (this.#attempts.get(name) ?? 0) + 1);
    return decided(count, waitMs, 0, 0, 0, 1);
  }

  giveBack(key: string, bytes: number) {
    const used = this.#bytes.get(key);
    if (used !== undefined) this.#bytes.set(key, Math.max(used - bytes, 0));
  }

  /** An attempt was no wrong token. */
  refund({ networks }: Guard) {
    for (const { name } of networks) {
      const left = (this.#attempts.get(name) ?? 0) - 1;
      if (left > 0) this.#attempts.set(name, left);
      else this.#attempts.delete(name);
    }
  }

  /** An attempt was a wrong token. */
  fail(guard: Guard, isSwitched: boolean) {
    this.refund(guard);
    this.count(guard, isSwitched);
  }

  /** A wrong token that was not reserved here. */
  count(guard: Guard, isSwitched: boolean) {
    for (const [index, network] of guard.networks.entries()) {
      const name = named([this.#locks, this.#failures], network, isSwitched);
      const now = this.#now();
      const log = [...live(this.#locks.get(name) ?? this.#failures.get(name), this.#limits.failuresWindowMs, now), now];
      const most = this.#mostFailures(index);
      if (log.length > most) log.shift();
      const isFull = log.length >= most;
      (isFull ? this.#failures : this.#locks).delete(name);
      remember(isFull ? this.#locks : this.#failures, name, log);
      if (index === guesserOf(guard) && this.#limits.itemFailuresMax > 0) this.#spend(guard.item, name);
    }
  }

  #judge(guard: Guard, isSwitched: boolean, now: number) {
    const { failuresWindowMs, itemFailuresMax } = this.#limits;
    const { networks, item } = guard;
    const budget = this.#budgets.get(item);
    const isUsedUp = budget !== undefined && itemFailuresMax > 0 && budget.all >= itemFailuresMax;
    let mustWait = false;
    for (const [index, network] of networks.entries()) {
      const name = named([this.#locks, this.#failures], network, isSwitched);
      const failures = live(this.#locks.get(name) ?? this.#failures.get(name), failuresWindowMs, now);
      if (failures.length >= this.#mostFailures(index)) {
        return { lockedMs: (failures[0] ?? now) + failuresWindowMs - now, mustWait: false };
      }
      const isGuesser = isUsedUp && index === guesserOf(guard);
      if (isGuesser && budget.guessers.has(name)) return { lockedMs: UNTIL_MIDNIGHT, mustWait: false };
      const most = isGuesser ? failures.length + 1 : this.#mostFailures(index); // one attempt at a time
      if (failures.length + (this.#attempts.get(network.name) ?? 0) >= most) mustWait = true;
    }
    return { lockedMs: 0, mustWait };
  }

  #mostFailures(network: number): number {
    return this.#limits.failuresMax * (SHARES[network] ?? 1);
  }

  #spend(item: string, guesser: string) {
    const budget = this.#budgets.get(item) ?? { all: 0, guessers: new Set<string>() };
    budget.all += 1;
    if (budget.guessers.size < MAX_KEYS) budget.guessers.add(guesser);
    remember(this.#budgets, item, budget);
  }
}

/** The place of the network that counts as one guesser. */
const guesserOf = ({ networks }: Guard) => Math.min(networks.length, GUESSER) - 1;

function live(log: number[] = [], windowMs: number, now: number): number[] {
  return log.filter((time) => time > now - windowMs);
}

/** As in the script: which name counts around midnight, and what is under the old one goes along. */
function named(maps: Map<string, number[]>[], { name, old }: Name, isSwitched: boolean): string {
  if (old === '' || maps.some((map) => map.has(name))) return name;
  if (!isSwitched) return old;
  for (const map of maps) {
    const log = map.get(old);
    map.delete(old);
    if (log) map.set(name, log);
  }
  return name;
}

function remember<T>(map: Map<string, T>, key: string, value: T) {
  if (!map.has(key) && map.size >= MAX_KEYS) map.delete(map.keys().next().value ?? '');
  map.set(key, value);
}
