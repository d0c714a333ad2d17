import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchArguments } from './arguments.ts';
import { judge } from './goals.ts';
import { runLoad } from './load.ts';
import { figuresOf, measureRound, type Round } from './measure.ts';
import { limitsOf } from './messages.ts';
import { memoryBytes } from './proc.ts';
import { REFERENCES, startReference, writeFileOf } from './references.ts';
import type { Report } from './report.ts';
import { SCENARIOS, type Scenario, SERVED_SIZES } from './scenarios.ts';
import { startAll, startSplit, startStores } from './service.ts';
import { figuresTable } from './table.ts';
import type { Target } from './target.ts';

type Line = { scenario: Scenario; target: Target; rounds: Round[] };

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
  const started = shape === 'all' ? [await startAll(stack, stores)] : await startSplit(stack, stores);
  const services = [...started, ...given.urls.map((url) => ({ name: url, url, processes: {} }))];
  const references = await startReferences(stack, scenarios, join(folder, 'served'));
  await sleep(given.isQuick ? 1_000 : 10_000);
  const idle = started.flatMap(({ processes }) => Object.entries(processes));
  const idleMegabytesOf = Object.fromEntries(idle.map(([name, pid]) => [name, memoryBytes(pid) / 1e6]));

  const lines = scenarios.flatMap((scenario): Line[] => [
    ...references.filter(({ name }) => name in scenario.references).map((target) => ({ scenario, target, rounds: [] })),
    ...services.map((target) => ({ scenario, target, rounds: [] })),
  ]);
  for (let round = 1; round <= given.rounds; round++) {
    for (const line of lines) {
      line.rounds.push(await measure(line, given));
      say(`round ${round} of ${given.rounds}: ${line.scenario.name} on ${line.target.name}`);
    }
  }

  const figures = lines.map(({ scenario, target, rounds }) => figuresOf(scenario.name, target, rounds));
  const idleText = Object.entries(idleMegabytesOf).map(([name, megabytes]) => `${name} ${megabytes.toFixed(0)} MB`);
  return {
    text: `${figuresTable(figures)}\n\nIdle memory: ${idleText.join(', ')}`,
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

async function measure({ scenario, target }: Line, { seconds, isQuick }: BenchArguments): Promise<Round> {
  const reference = Object.entries(scenario.references).find(([name]) => name === target.name)?.[1];
  const request = reference ?? (await scenario.prepare(target.url, await limitsOf(target.url), isQuick));
  const { connections, maxRequests } = scenario;
  // What runs for the first time is compiled first: that is not what a request costs.
  if (!maxRequests) await runLoad({ url: target.url, connections, seconds: WARM_UP_SEC, request });
  return measureRound(target, { connections, maxRequests, seconds, request });
}
