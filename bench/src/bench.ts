import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import type { BenchArguments, Kind } from './arguments.ts';
import { measureBeside } from './beside.ts';
import { measureCrowd } from './crowd.ts';
import { measureGrowth } from './growth.ts';
import { measureLeases } from './leases.ts';
import { measureParts } from './parts.ts';
import { measureReplicas } from './replicas.ts';
import type { Report } from './report.ts';
import { measureScenarios } from './scenario-table.ts';
import { goalsTable } from './table.ts';
import { measureTelemetry } from './telemetry.ts';

type Measure = (stack: AsyncDisposableStack, folder: string, given: BenchArguments) => Promise<Report>;

const MEASURES: Record<Kind, Measure> = {
  all: measureScenarios,
  split: measureScenarios,
  beside: measureBeside,
  replicas: measureReplicas,
  crowd: measureCrowd,
  growth: measureGrowth,
  telemetry: measureTelemetry,
  parts: measureParts,
  leases: measureLeases,
};

/** Starts what is measured, measures, prints tables and goals and writes them as JSON. Stops cleanly when it is told to. */
export async function bench(given: BenchArguments): Promise<void> {
  if (process.platform !== 'linux')
    console.log('Processor time and memory come from /proc: without Linux they are left out.');
  await using stack = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stack.disposeAsync().finally(() => process.exit(1)));
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
  { urls: _, folder: __, other: ___, ...given }: BenchArguments,
  { figures, verdicts }: Report,
): string {
  const folder = resolve(import.meta.dirname, '../results');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${given.kind}-${new Date().toISOString().replaceAll(':', '-')}.json`);
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(path, `${JSON.stringify({ machine, given, figures, verdicts }, null, 2)}\n`);
  return path;
}
