import type { Logger } from '@mayfly/shared/logger';
import type { Admission, Guard, Limits } from './admission.ts';
import { daySecondsLeft, type Naming, nameFrom, ofDay, type Pseudonym } from './keys/daily-names.ts';
import type { MemoryAdmission } from './memory-admission.ts';
import type { RedisAdmission } from './redis/redis-admission.ts';
import type { ShardOf } from './redis/shards.ts';

type Target = { networks: string[]; item: string; ofClient: Pseudonym; naming: Naming };
type Sharding = { shardOf: ShardOf };

export type Attempt = Target & {
  guard: Guard;
  /** The client's widest network and the item: where attempts compete. */
  place: string;
};

type Deps = {
  limits: Limits;
  namingAt: (time: number) => Naming | Promise<Naming>;
  shardOf: ShardOf;
  shared: RedisAdmission;
  memory: MemoryAdmission;
  logger: Logger;
  now: () => number;
  /** Whoever waits for an attempt at this place can be decided anew. */
  onSettled: (place: string) => void;
};

const UNLOCKED = Promise.resolve(0);

/** Attempts at tokens, from the request to its answer. Decision guesses-count-at-start. */
export class Attempts {
  readonly #deps: Deps;
  /** How many this process has under way. */
  readonly #underWay = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  begin(target: Target): Attempt {
    const { networks, item, ofClient, naming } = target;
    const place = `${networks.at(-1)}\n${item}`;
    const others = this.#underWay.get(place) ?? 0;
    this.#underWay.set(place, others + 1);
    return { networks, item, ofClient, naming, place, guard: guardOf({ ...target, ...this.#deps }, others === 0) };
  }

  /** It was refused before it began. */
  drop({ place }: Attempt) {
    const left = (this.#underWay.get(place) ?? 0) - 1;
    if (left > 0) this.#underWay.set(place, left);
    else this.#underWay.delete(place);
  }

  /**
   * The answer is known. Resolves when the others can know it, too: with 0, or with how long the item is locked, in
   * milliseconds, when others have used up the wrong tokens meanwhile.
   */
  settle(attempt: Attempt, admission: Admission, isWrong: boolean): Promise<number> {
    const { memory, onSettled } = this.#deps;
    const { keptBy, isReserved } = admission;
    this.drop(attempt);
    if (keptBy === 'redis' && (isWrong || isReserved)) return this.#settleForAll(attempt, admission, isWrong);
    if (keptBy === 'memory') {
      if (isWrong) memory.fail(attempt.guard, attempt.naming.isSwitched);
      else memory.refund(attempt.guard);
    }
    onSettled(attempt.place);
    return UNLOCKED;
  }

  async #settleForAll(attempt: Attempt, { owner, isReserved }: Admission, isWrong: boolean): Promise<number> {
    const { shared, memory, logger, namingAt, shardOf, now, onSettled } = this.#deps;
    // Under the names that it has by now.
    const time = now();
    const naming = await namingAt(time);
    const ofClient = naming.pseudonymOf(attempt.networks[0] ?? '');
    const guard = naming === attempt.naming ? attempt.guard : guardOf({ ...attempt, ofClient, naming, shardOf }, false);
    const settlement = { guard, isSwitched: naming.isSwitched, owner, isReserved, expireSec: daySecondsLeft(time) };
    try {
      if (isWrong) return await shared.fail(settlement);
      await shared.refund(settlement);
    } catch (err) {
      // A wrong token is counted at least here; what was reserved ends by itself.
      if (isWrong) memory.count(guard, naming.isSwitched);
      logger.debug({ err }, 'an attempt was not settled');
    } finally {
      onSettled(attempt.place);
    }
    return 0;
  }
}

function guardOf({ networks, item, ofClient, naming, shardOf }: Target & Sharding, isAlone: boolean): Guard {
  const ofItem = naming.pseudonymOf(item);
  const shard = shardOf(item);
  return {
    isAlone,
    networks: networks.map((network, index) =>
      nameFrom(`mayfly:failures:${shard}`, ofItem, index === 0 ? ofClient : naming.pseudonymOf(network)),
    ),
    item: ofDay(nameFrom(`mayfly:guesses:${shard}`, ofItem), naming.isSwitched),
  };
}
