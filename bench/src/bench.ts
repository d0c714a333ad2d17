import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import type { BenchArguments, Kind } from './arguments.ts';
import { measureBeside } from './beside.ts';
import { measureCapacity } from './capacity.ts';
import { measureCommandLine } from './command-line.ts';
import { measureCrowd } from './crowd.ts';
import { measureGrowth } from './growth.ts';
import { guardMachine } from './guard.ts';
import { measureHops } from './hops.ts';
import { measureLeases } from './leases.ts';
import { measureParts } from './parts.ts';
import { measureReplicas } from './replicas.ts';
import type { Report } from './report.ts';
import { measureScenarios } from './scenario-table.ts';
import { measureStart } from './start.ts';
import { goalsTable } from './table.ts';
import { measureTails } from './tails.ts';
import { measureTelemetry } from './telemetry.ts';

type Measure = (stack: AsyncDisposableStack, folder: string, given: BenchArguments) => Promise<Report>;

const MEASURES: Record<Kind, Measure> = {
  all: measureScenarios,
  split: measureScenarios,
  tails: measureTails,
  hops: measureHops,
  start: measureStart,
  beside: measureBeside,
  replicas: measureReplicas,
  capacity: measureCapacity,
  crowd: measureCrowd,
  growth: measureGrowth,
  telemetry: measureTelemetry,
  parts: measureParts,
  leases: measureLeases,
  'command-line': measureCommandLine,
};

/** Starts what is measured, measures, prints tables and goals and writes them as JSON. Stops cleanly when it is told to. */
export async function bench(given: BenchArguments): Promise<void> {
  if (process.platform !== 'linux')
    console.log('Processor time and memory come from /proc: without Linux they are left out.');
  await using stack = new AsyncDisposableStack();
  const stop = () => {
    process.on('uncaughtException', () => {}); // what is cut short fails in its own way, before all is put away
    void stack.disposeAsync().finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  if (!given.isQuick) {
    const pids = [process.pid, ...Object.values(given.peer?.processes ?? {})];
    stack.use(await guardMachine(pids, given.isAnyway, stop));
  }
  const folder = mkdtempSync(join(given.folder, 'mayfly-bench-'));
  chmodSync(folder, 0o755); // PostgreSQL and nginx may run as other accounts
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const report = await MEASURES[given.kind](stack, folder, given);
  console.log(`\n${report.text}\n`);
  if (report.verdicts.length > 0) console.log(`Goals:\n${goalsTable(report.verdicts)}`);
  console.log(`\nWritten to ${writeResult(given, report)}`);
}

function writeResult(
  { peer: _, folder: __, other: ___, ...given }: BenchArguments,
  { figures, verdicts }: Report,
): string {
  const folder = resolve(import.meta.dirname, '../results');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${given.kind}-${new Date().toISOString().replaceAll(':', '-')}.json`);
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(path, `${JSON.stringify({ machine, given, figures, verdicts }, null, 2)}\n`);
  return path;
}
