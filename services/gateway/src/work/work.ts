import type { Config } from '@mayfly/shared/config';
import type { Redis } from '@mayfly/shared/redis';
import { clientOf } from '../limits/keys/client-address.ts';
import { dateOf, daySecondsLeft } from '../limits/keys/daily-names.ts';
import type { RequestLimits } from '../limits/limits.ts';
import type { workSettings } from '../settings.ts';
import { CHALLENGE_MS, endOf, makeChallenge, type Price, readSolution } from './challenge.ts';
import { solutionChecks } from './check-solutions.ts';
import { workLedger } from './ledger.ts';
import { TRY, takenUntil, triesAt } from './prices.ts';

type Challenge = Price & {
  challenge: string;
  /** That a solution is worth. */
  requests: number;
  endsAt: Date;
};

export type Work = {
  /** Something to work on, or in how many milliseconds there will be. */
  offer(address: string): Promise<Challenge | { waitMs: number }>;
  /** Whether a request has a place for what it says to have solved: one of those that the solution is worth. */
  isWorth(address: string, header: string): Promise<boolean>;
};

/** How much longer than the challenge it is remembered that it was solved: the clocks of two gateways may differ. */
const CLOCKS_MS = 60_000;

/**
 * Work for requests beyond the limit. Bound to the client, signed with a key that all replicas share, and counted by all
 * together. What costs nothing is looked at first: a hash is spent only on what this service has signed for this client, which
 * has not ended and was not used. Decision work-instead-of-a-wall.
 */
export function clientWork(options: {
  redis: Redis;
  requests: Pick<RequestLimits, 'sharedKey' | 'keyOf' | 'limits'>;
  settings: Pick<Config<typeof workSettings>, 'WORK_EXTRA'>;
  now?: (() => number) | undefined;
  isSolved?: ReturnType<typeof solutionChecks>;
}): Work {
  const { redis, requests: limits, settings, now = Date.now, isSolved = solutionChecks() } = options;
  const { WORK_EXTRA: requests } = settings;
  const refused = refusals(now);
  const ledger = workLedger(redis, limits.limits.windowMs, now);

  const keyAt = (endsAt: number) =>
    limits.sharedKey(`mayfly:work-key:${dateOf(endsAt)}`, CHALLENGE_MS / 1000 + daySecondsLeft(endsAt));

  return {
    async offer(address) {
      const { bought, waitMs } = await ledger.ask(await limits.keyOf(address));
      if (waitMs > 0) return { waitMs };
      const endsAt = now() + CHALLENGE_MS;
      const price = { ...TRY, tries: triesAt(bought) };
      const challenge = makeChallenge(await keyAt(endsAt), clientOf(address), endsAt, price);
      return { challenge, ...price, requests, endsAt: new Date(endsAt) };
    },

    async isWorth(address, header) {
      const endsAt = endOf(header, now());
      if (endsAt === undefined) return false;
      const solution = readSolution(await keyAt(endsAt), clientOf(address), header);
      if (!solution) return false;
      const use = {
        client: await limits.keyOf(address),
        id: solution.id,
        requests,
        keptMs: endsAt - now() + CLOCKS_MS,
        takenUntil: takenUntil(solution.tries),
      };
      if (refused.has(solution.text)) return false;
      const known = await ledger.use(use, false);
      const isWorth = known ?? ((await isSolved(solution)) && (await ledger.use(use, true)) === true);
      if (!isWorth) refused.add(solution.text);
      return isWorth;
    },
  };
}

/** For so long a solution that was refused is refused again without asking: a flood of it must not reach Redis. */
const REFUSED_MS = 1_000;
const MOST_REFUSED = 1_000;

function refusals(now: () => number) {
  const until = new Map<string, number>();
  return {
    has: (text: string) => (until.get(text) ?? 0) > now(),
    add(text: string) {
      until.delete(text);
      if (until.size >= MOST_REFUSED) for (const first of until.keys().take(1)) until.delete(first);
      until.set(text, now() + REFUSED_MS);
    },
  };
}
