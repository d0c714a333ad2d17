import { randomBytes } from 'node:crypto';
import type { Redis } from '@mayfly/shared/redis';
import { Admission, type Decision, type Demands, type Guard, type Limits } from '../admission.ts';
import type { Breaker } from './breaker.ts';
import { admit, fail, GIVE_BACK, NONE, REFUND } from './scripts.ts';
import { shardIn } from './shards.ts';

/** Most clients over their limit that are refused without asking Redis. */
const MAX_BLOCKED = 1_000;

/** An attempt that is settled, under the names that it has now and the one who reserved it. */
type Settlement = { guard: Guard; isSwitched: boolean; owner: string; isReserved: boolean; expireSec: number };

type Scripts = {
  mayflyAdmit(keys: number, ...args: (string | number)[]): Promise<Decision>;
  mayflyGiveBack(key: string, bytes: number): Promise<unknown>;
  mayflyRefund(keys: number, ...args: (string | number)[]): Promise<unknown>;
  mayflyFail(keys: number, ...args: (string | number)[]): Promise<number>;
};

/** What all replicas decide together, in one round trip. Decision one-limiter-script. */
export class RedisAdmission {
  readonly #limits: Limits;
  readonly #redis: Redis;
  readonly #scripts: Scripts;
  readonly #breaker: Breaker;
  readonly #blocked = new Map<string, { until: number; count: number }>();
  /**
   * Who reserves attempts. A name that is not kept alive loses them, so a process that cannot know which of its own were
   * settled takes a new one.
   */
  #owner = newOwner();
  /** Where it has reserved any. */
  readonly #shards = new Set(['']);
  #refunds = new Map<string, string[]>();
  #refunded: Promise<void> | undefined;

  constructor({ redis, limits, breaker }: { redis: Redis; limits: Limits; breaker: Breaker }) {
    redis.defineCommand('mayflyAdmit', { lua: admit(limits) });
    redis.defineCommand('mayflyGiveBack', { numberOfKeys: 1, lua: GIVE_BACK });
    redis.defineCommand('mayflyRefund', { lua: REFUND });
    redis.defineCommand('mayflyFail', { lua: fail(limits) });
    this.#limits = limits;
    this.#redis = redis;
    this.#breaker = breaker;
    this.#scripts = redis as unknown as Scripts; // the commands that were just defined
  }

  /** Rejects when Redis cannot say. */
  async decide(demands: Demands): Promise<Admission> {
    const key = demands.rate?.name ?? '';
    const blocked = this.#blocked.get(key);
    const leftMs = blocked ? blocked.until - performance.now() : 0;
    // The oldest entry's end is when the next request can be let in: until then the answer is known.
    if (blocked && leftMs > 0) return new Admission('redis', this.#limits, [blocked.count, leftMs]);
    if (blocked) this.#blocked.delete(key);
    const owner = this.#owner;
    const decision = await this.#run(() => this.#admitBoth(demands, owner));
    const admission = new Admission('redis', this.#limits, decision, owner);
    if (admission.isLimited) this.#block(key, admission);
    return admission;
  }

  giveBack(key: string, bytes: number): Promise<unknown> {
    return this.#scripts.mayflyGiveBack(key, bytes);
  }

  /** An attempt was no wrong token. All of a turn of the event loop are settled together. */
  refund({ guard, isSwitched, owner, isReserved }: Settlement): Promise<void> {
    if (!isReserved || owner !== this.#owner) return Promise.resolve(); // it has ended with its name
    const shard = shardIn(guard.item);
    const together = this.#refunds.get(shard) ?? [];
    this.#refunds.set(shard, together);
    for (const { name, old } of guard.networks) together.push(name, old || NONE + shard);
    this.#refunded ??= new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
      const all = [...this.#refunds.values()];
      this.#refunds = new Map();
      this.#refunded = undefined;
      const send = (keys: string[]) => this.#scripts.mayflyRefund(keys.length, ...keys, isSwitched ? 1 : 0, owner);
      await this.#run(() => Promise.all(all.map(send)));
    });
    return this.#refunded;
  }

  /** An attempt was a wrong token. Resolves with 0, or when there was one too many with how long the item is locked. */
  fail({ guard, isSwitched, owner, isReserved, expireSec }: Settlement): Promise<number> {
    const none = NONE + shardIn(guard.item);
    const keys = [guard.item, ...guard.networks.flatMap(({ name, old }) => [name, old || none])];
    return this.#run(() =>
      this.#scripts.mayflyFail(keys.length, ...keys, isSwitched ? 1 : 0, owner, isReserved ? 1 : 0, expireSec),
    );
  }

  /** Keeps what this process has reserved, however long it takes. */
  async stayAlive() {
    const owner = this.#owner;
    const say = (shard: string) => this.#redis.set(`mayfly:gateway:${shard}${owner}`, '', 'PX', 10_000);
    await Promise.all([...this.#shards].map(say));
  }

  #block(key: string, { msBeforeNext, consumedPoints }: Admission) {
    if (this.#blocked.size >= MAX_BLOCKED) this.#blocked.delete(this.#blocked.keys().next().value ?? '');
    this.#blocked.set(key, { until: performance.now() + msBeforeNext, count: consumedPoints });
  }

  async #run<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await this.#breaker.run(command);
    } catch (error) {
      this.#owner = newOwner(); // it may have been done, or not
      if (this.#redis.isCluster) this.#shards.clear();
      throw error;
    }
  }

  /** On a cluster what is kept about a client and what about an item are not in one place: it is asked of both, in turn. */
  async #admitBoth(demands: Demands, owner: string): Promise<Decision> {
    const { guard, ...ofClient } = demands;
    if (!this.#redis.isCluster || !guard) return this.#admit(demands, owner);
    const { rate, quota, isSwitched } = ofClient;
    const first: Decision = rate || quota ? await this.#admit(ofClient, owner) : [0, 0];
    const [count, waitMs, isQuotaExceeded] = first;
    if (isQuotaExceeded || (rate && this.#limits.max > 0 && count > this.#limits.max)) return first;
    const [, , , lockedMs = 0, mustWait = 0, isReserved = 0] = await this.#admit({ guard, isSwitched }, owner);
    if (quota && (lockedMs !== 0 || mustWait)) await this.giveBack(quota.key, quota.bytes);
    if (isReserved) this.#shards.add(shardIn(guard.item));
    return [count, waitMs, 0, lockedMs, mustWait, isReserved];
  }

  #admit({ rate, isSwitched, quota, guard }: Demands, owner: string): Promise<Decision> {
    // What is needed by few is left out: each name and each number costs a plain request as much as all else here.
    const none = NONE + shardIn(rate?.name ?? quota?.key ?? guard?.item ?? '');
    const args: (string | number)[] = [rate?.name ?? none, rate?.old || none];
    if (guard) {
      args.push(guard.item);
      for (const { name, old } of guard.networks) args.push(name, old || none);
    }
    if (quota) args.push(quota.key);
    const keys = args.length;
    args.push(isSwitched ? 1 : 0);
    if (guard || quota) args.push(owner);
    if (quota || guard?.isAlone === false) args.push(guard?.isAlone === false ? 1 : 0);
    if (quota) args.push(quota.bytes, quota.expireSec);
    return this.#scripts.mayflyAdmit(keys, ...args);
  }
}

const newOwner = () => randomBytes(9).toString('base64url');
