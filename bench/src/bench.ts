import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchArguments } from './arguments.ts';
import { judge } from './goals.ts';
import { runLoad } from './load.ts';
import { type Figures, figuresOf, measureRound, type Round } from './measure.ts';
import type { ServiceLimits } from './messages.ts';
import { memoryBytes } from './proc.ts';
import { REFERENCES, startReference, writeFileOf } from './references.ts';
import { SCENARIOS, type Scenario, SERVED_SIZES } from './scenarios.ts';
import { startService } from './service.ts';
import { figuresTable, goalsTable } from './table.ts';
import type { Target } from './target.ts';

type Line = { scenario: Scenario; target: Target; rounds: Round[] };

const WARM_UP_SEC = 1;

const say = (text: string) => console.log(text);

/** Starts what is measured, measures in interleaved rounds, prints tables and writes them as JSON. */
export async function bench(given: BenchArguments): Promise<void> {
  if (process.platform !== 'linux') say('Processor time and memory come from /proc: without Linux they are left out.');
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(given.folder, 'mayfly-bench-'));
  chmodSync(folder, 0o755); // PostgreSQL and nginx may run as other accounts
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));

  const scenarios = SCENARIOS.filter(({ name }) => given.only.length === 0 || given.only.includes(name));
  say(`Starting ${given.shape} and the references ...`);
  const service = await startService(stack, given.shape, folder);
  const services = [service, ...given.urls.map((url) => ({ name: url, url, processes: {} }))];
  const references = await startReferences(stack, scenarios, join(folder, 'served'));
  await sleep(given.isQuick ? 1_000 : 10_000);
  const idleMegabytes = Math.max(...Object.values(service.processes).map(memoryBytes)) / 1e6;

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
  const verdicts = given.shape === 'all' ? judge(figures, 'all', idleMegabytes) : [];
  say(`\n${figuresTable(figures)}\n\nIdle memory: ${idleMegabytes.toFixed(0)} MB\n`);
  if (verdicts.length > 0) say(`Goals:\n${goalsTable(verdicts)}`);
  say(`\nWritten to ${writeResult({ given, idleMegabytes, figures, verdicts })}`);
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

/** A service with other options than Mayfly's defaults is asked in its own. */
async function limitsOf(url: string): Promise<ServiceLimits> {
  return (await (await fetch(`${url}/api/config`)).json()) as ServiceLimits; // as decision 9 says
}

type Result = { given: BenchArguments; idleMegabytes: number; figures: Figures[]; verdicts: unknown };

function writeResult({ given: { urls: _, folder: __, ...given }, ...result }: Result): string {
  const folder = resolve(import.meta.dirname, '../results');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${new Date().toISOString().replaceAll(':', '-')}.json`);
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(path, `${JSON.stringify({ machine, given, ...result }, null, 2)}\n`);
  return path;
}
