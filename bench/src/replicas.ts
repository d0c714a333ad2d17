import type { BenchArguments } from './arguments.ts';
import { assertShares, holdToShare } from './cpu-share.ts';
import { median, runLoad } from './load.ts';
import { limitsOf } from './messages.ts';
import { atLeast, type Report } from './report.ts';
import { scenario } from './scenarios.ts';
import { startSplit, startStores } from './service.ts';
import { columns } from './table.ts';

const MOST = 4;
/** Of one core, for each process: four times three of them, the stores and the load find room on two cores. */
const SHARE = 0.08;
const MEASURED = ['info', 'note-create', 'note-view', 'download-1m'];
/** Enough to keep one replica busy, not so many that they wait for seconds. */
const CONNECTIONS_OF_EACH = 8;
const LINEAR = 0.9;
/** Of each replica, with all of the machine: in its share of a core V8 would go on compiling for minutes. */
const WARM_UP_SEC = 15;

/**
 * What one, two and four replicas of gateway, files and notes answer together, each process held to the same small share of a
 * core, so that a machine of two cores can show how they grow. PostgreSQL, Redis and the load have what is left.
 */
export async function measureReplicas(
  stack: AsyncDisposableStack,
  folder: string,
  { rounds, seconds, only }: BenchArguments,
): Promise<Report> {
  assertShares();
  const stores = await startStores(stack, folder);
  const targets = await startSplit(stack, stores, MOST);
  const perSec: Record<string, Record<number, number[]>> = {};
  for (const name of MEASURED.filter((known) => only.length === 0 || only.includes(known))) {
    const { prepare, maxRequests = Number.POSITIVE_INFINITY } = scenario(name);
    const url = targets[0]?.url ?? '';
    const limits = await limitsOf(url);
    const forWarmUp = await prepare(url, limits, false);
    const warmUp = { connections: CONNECTIONS_OF_EACH, seconds: WARM_UP_SEC, maxRequests: maxRequests / MOST };
    for (const target of targets) await runLoad({ url: target.url, ...warmUp, request: forWarmUp });
    const request = await prepare(url, limits, false); // what the warm-up has used up is there again
    const ofScenario: Record<number, number[]> = { 1: [], 2: [], 4: [] };
    perSec[name] = ofScenario;
    using shares = new DisposableStack();
    for (const { processes } of targets) {
      for (const part of ['gateway', 'files', 'notes']) holdToShare(shares, processes[part] ?? 0, SHARE);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const replicas of [1, 2, 4]) {
        const loads = targets.slice(0, replicas).map((target, turn) =>
          runLoad({
            url: target.url,
            connections: CONNECTIONS_OF_EACH,
            seconds: seconds * 2, // a share of a core is dealt out every tenth of a second
            request: (index) => request(index * MOST + turn),
          }),
        );
        const measured = await Promise.all(loads);
        const sum = measured.reduce((total, load) => total + load.requests / load.seconds, 0);
        ofScenario[replicas]?.push(sum);
        console.log(`round ${round} of ${rounds}: ${name} on ${replicas}`);
      }
    }
  }
  const figures = Object.entries(perSec).map(([name, counts]) => {
    const [one = 0, two = 0, four = 0] = [1, 2, 4].map((replicas) => median(counts[replicas] ?? []));
    return { scenario: name, one, two, four, linear: four / (4 * one) };
  });
  const rows = figures.map(({ scenario: name, one, two, four, linear }) => [
    name,
    ...[one, two, four].map((count) => count.toFixed(0)),
    linear.toFixed(2),
  ]);
  return {
    text: columns([['scenario', 'req/s on 1', 'on 2', 'on 4', 'of 4 x 1'], ...rows]),
    figures,
    verdicts: figures.map(({ scenario: name, linear }) => atLeast(`${name}: 4 replicas of 4 x 1,`, linear, LINEAR)),
  };
}
