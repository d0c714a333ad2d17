import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startProgram } from '@mayfly/launcher/program';
import type { BenchArguments } from './arguments.ts';
import { type Measured, median, runLoad, runOpenLoop } from './load.ts';
import { limitsOf } from './messages.ts';
import { atMost, type Report } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { type Shape, startAll, startSplit, startStores } from './service.ts';
import { columns } from './table.ts';

const GOAL_MS: Record<Shape, number> = { all: 10, split: 15 };
const SHARE = 0.7;
const MEASURED = ['info', 'note-create', 'note-view'];
/** Enough that none of what is due waits for a connection while the service is well. */
const CONNECTIONS = 256;
const WARM_UP_SEC = 6;
const TRANSFERS = { count: 20, bytes: 2 ** 30 };
const QUICK_TRANSFERS = { count: 2, bytes: 2 ** 23 };

/**
 * How long small requests take that come at a rate of their own: 70 % of what as many clients as the service can bear reached
 * just before, alone and, both, while 20 transfers run.
 */
export async function measureTails(_: AsyncDisposableStack, folder: string, given: BenchArguments): Promise<Report> {
  const figures = [...(await measureShape('all', folder, given)), ...(await measureShape('split', folder, given))];
  const rows = figures.map(({ shape, beside, scenario, perSec, p50Ms, p99Ms, p999Ms }) => [
    scenario,
    shape,
    beside,
    perSec.toFixed(0),
    ...[p50Ms, p99Ms, p999Ms].map((ms) => ms.toFixed(1)),
  ]);
  return {
    text: columns([['scenario', 'shape', 'beside', 'req/s', 'p50 ms', 'p99 ms', 'p99.9 ms'], ...rows]),
    figures,
    verdicts: figures.map(({ shape, beside, scenario, p99Ms }) =>
      atMost(`${scenario} in ${shape} beside ${beside}, p99`, p99Ms, GOAL_MS[shape], 'ms'),
    ),
  };
}

async function measureShape(shape: Shape, parent: string, given: BenchArguments) {
  await using stack = new AsyncDisposableStack();
  const folder = join(parent, shape);
  mkdirSync(folder);
  const stores = await startStores(stack, folder, shape === 'split');
  const [target] = shape === 'all' ? [await startAll(stack, stores)] : await startSplit(stack, stores);
  const { url } = target as { url: string }; // there is one of either
  const wanted = given.only.length > 0 ? given.only : MEASURED;
  const figures = [];
  const { count, bytes } = given.isQuick ? QUICK_TRANSFERS : TRANSFERS;
  for (const beside of ['nothing', `${count} transfers`]) {
    await using meanwhile = new AsyncDisposableStack();
    const transfers =
      beside === 'nothing' ? undefined : await startTransfers(meanwhile, [url, String(count), String(bytes)]);
    for (const scenario of SCENARIOS.filter(({ name, connections }) => wanted.includes(name) && connections === 64)) {
      const rounds: Measured[] = [];
      if (!given.isQuick) await closed(url, scenario, WARM_UP_SEC);
      for (let round = 1; round <= given.rounds; round += 1) {
        const reached = await closed(url, scenario, given.seconds);
        const perSec = (SHARE * reached.requests) / reached.seconds;
        const request = await scenario.prepare(url, await limitsOf(url), given.isQuick);
        const seconds = Math.min(given.seconds, (scenario.maxRequests ?? Number.POSITIVE_INFINITY) / perSec);
        rounds.push(await runOpenLoop({ url, connections: CONNECTIONS, seconds, perSec, request }));
        if (transfers && transfers.child.exitCode !== null) throw new Error('the transfers have ended, see above');
        console.log(`round ${round} of ${given.rounds}: ${scenario.name} on ${shape} beside ${beside}`);
      }
      const middle = (figure: (round: Measured) => number) => median(rounds.map(figure));
      figures.push({
        shape,
        beside,
        scenario: scenario.name,
        perSec: middle(({ requests, seconds }) => requests / seconds),
        p50Ms: middle(({ p50Ms }) => p50Ms),
        p99Ms: middle(({ p99Ms }) => p99Ms),
        p999Ms: middle(({ p999Ms }) => p999Ms),
      });
    }
  }
  return figures;
}

async function closed(url: string, { prepare, connections, maxRequests }: Scenario, seconds: number) {
  const request = await prepare(url, await limitsOf(url), false);
  return runLoad({ url, connections, maxRequests, seconds, request });
}

async function startTransfers(stack: AsyncDisposableStack, args: string[]) {
  const entry = join(import.meta.dirname, 'transfers.ts');
  const program = stack.use(startProgram(process.execPath, [entry, ...args], process.env, { stdout: 'ignore' }));
  await Promise.race([
    once(program.child, 'message'),
    program.exited.then((how) => {
      throw new Error(`the transfers ${how}`);
    }),
  ]);
  return program;
}
