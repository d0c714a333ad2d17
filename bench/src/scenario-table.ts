import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryBytes } from '@mayfly/testing/proc';
import type { BenchArguments } from './arguments.ts';
import { judge } from './goals.ts';
import { runLoad } from './load.ts';
import { figuresOf, measureRound, type Round } from './measure.ts';
import { limitsOf } from './messages.ts';
import { REFERENCES, startReference, writeFileOf } from './references.ts';
import type { Report } from './report.ts';
import { type Ask, SCENARIOS, type Scenario, SERVED_SIZES } from './scenarios.ts';
import { startAll, startSplit, startStores } from './service.ts';
import { figuresTable, ratiosTable } from './table.ts';
import type { Target } from './target.ts';

type Line = { scenario: Scenario; target: Target; rounds: Round[] };

/** Before the first round: V8 has compiled what runs often only after thousands of requests. */
const FIRST_WARM_UP_SEC = 6;
/** Before each measurement: what the others in between have pushed out of the caches. */
const WARM_UP_SEC = 1;

const say = (text: string) => console.log(text);

/** Every scenario on one process or on four, beside references, in interleaved rounds. */
export async function measureScenarios(
  stack: AsyncDisposableStack,
  folder: string,
  given: BenchArguments,
): Promise<Report> {
  const shape = given.kind === 'split' ? 'split' : 'all';
  const scenarios = SCENARIOS.filter(({ name }) => given.only.length === 0 || given.only.includes(name));
  say(`Starting ${shape} and the references ...`);
  const stores = await startStores(stack, folder, shape === 'split');
  const start = async (within: AsyncDisposableStack) =>
    shape === 'all' ? [await startAll(within, stores)] : await startSplit(within, stores);
  {
    await using first = new AsyncDisposableStack();
    await start(first); // the first start in a clone compiles and takes more memory; later ones find what it has kept
  }
  const started = await start(stack);
  const services = [...started, ...(given.peer ? [given.peer] : [])];
  const references = await startReferences(stack, scenarios, join(folder, 'served'));
  await sleep(given.isQuick ? 1_000 : 10_000);
  const idle = started.flatMap(({ processes }) => Object.entries(processes));
  const idleMegabytesOf = Object.fromEntries(idle.map(([name, pid]) => [name, memoryBytes(pid) / 1e6]));

  const lines = scenarios.flatMap((scenario): Line[] => [
    ...references.filter(({ name }) => name in scenario.references).map((target) => ({ scenario, target, rounds: [] })),
    ...services.map((target) => ({ scenario, target, rounds: [] })),
  ]);
  if (!given.isQuick) {
    say('Warming up ...');
    for (const line of lines) await warmUp(line, await requestOf(line, given), FIRST_WARM_UP_SEC);
  }
  for (let round = 1; round <= given.rounds; round++) {
    for (const line of lines) {
      line.rounds.push(await measure(line, given));
      say(`round ${round} of ${given.rounds}: ${line.scenario.name} on ${line.target.name}`);
    }
  }

  const figures = lines.map(({ scenario, target, rounds }) => figuresOf(scenario.name, target, rounds));
  const idleText = Object.entries(idleMegabytesOf).map(([name, megabytes]) => `${name} ${megabytes.toFixed(0)} MB`);
  return {
    text: `${figuresTable(figures)}\n\n${ratiosTable(figures, shape)}\n\nIdle memory: ${idleText.join(', ')}`,
    figures: { idleMegabytesOf, table: figures },
    verdicts: judge(figures, shape, idleMegabytesOf.all),
  };
}

async function startReferences(stack: AsyncDisposableStack, scenarios: Scenario[], folder: string): Promise<Target[]> {
  mkdirSync(folder);
  const wanted = REFERENCES.filter((name) => scenarios.some(({ references }) => name in references));
  if (wanted.includes('reader')) {
    for (const sizeBytes of SERVED_SIZES) await writeFileOf(folder, sizeBytes, Buffer.alloc(1024 * 1024, 'sealed'));
  }
  const started: Target[] = [];
  for (const name of wanted) {
    const target = await startReference(stack, name, folder);
    if (target) started.push(target);
    else say(`${name} is skipped: this machine does not have it (Debian: apt-get install nginx-light).`);
  }
  return started;
}

async function measure(line: Line, given: BenchArguments): Promise<Round> {
  const { connections, maxRequests } = line.scenario;
  const request = await requestOf(line, given);
  if (!maxRequests) await warmUp(line, request, WARM_UP_SEC);
  return measureRound(line.target, { connections, maxRequests, seconds: given.seconds, request });
}

async function requestOf({ scenario, target }: Line, { isQuick }: BenchArguments): Promise<Ask> {
  const reference = Object.entries(scenario.references).find(([name]) => name === target.name)?.[1];
  return reference ?? scenario.prepare(target.url, await limitsOf(target.url, target.dialect), isQuick);
}

async function warmUp({ scenario, target }: Line, request: Ask, seconds: number) {
  const { connections, maxRequests, per } = scenario;
  if (per === 'GB') return; // one of them takes as long
  await runLoad({ url: target.url, connections, maxRequests, seconds, request });
}
