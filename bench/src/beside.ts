import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BenchArguments } from './arguments.ts';
import { median } from './load.ts';
import { measureRound, type Round } from './measure.ts';
import { limitsOf } from './messages.ts';
import type { Report } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import * as service from './service.ts';
import { columns } from './table.ts';
import type { Target } from './target.ts';

type Side = 'other' | 'this';
type Sides<T> = Record<Side, T>;
/** Processor seconds of the service and its stores, per 1,000 requests or GB. */
type Costs = Sides<number[]>;

const SIDES = ['other', 'this'] as const;
const WARM_UP_SEC = 3;

/**
 * One process of this code beside one of another checkout, each with its own stores, in short turns: what the machine does
 * meanwhile meets both. The load and the measuring are this checkout's.
 */
export async function measureBeside(
  stack: AsyncDisposableStack,
  folder: string,
  given: BenchArguments,
): Promise<Report> {
  const otherPath = resolve(given.other ?? '', 'bench/src/service.ts');
  const other = (await import(pathToFileURL(otherPath).href)) as typeof service; // the same module of another commit
  const targets: Sides<Target> = {
    other: await start(other, stack, join(folder, 'other')),
    this: await start(service, stack, join(folder, 'this')),
  };
  const rows: string[][] = [];
  const figures: { scenario: string; part: string; otherSec: number; thisSec: number; ratio: number }[] = [];
  for (const scenario of SCENARIOS.filter(({ name }) => given.only.length === 0 || given.only.includes(name))) {
    for (const [part, costs] of Object.entries(await inTurns(scenario, targets, given))) {
      const ratio = median(costs.this.map((cost, turn) => cost / (costs.other[turn] ?? Number.NaN)));
      const [otherSec, thisSec] = [median(costs.other), median(costs.this)];
      figures.push({ scenario: scenario.name, part, otherSec, thisSec, ratio });
      const seconds = [otherSec, thisSec].map((cost) => cost.toFixed(4));
      // Of what took less than the clock of the kernel counts there is no ratio.
      rows.push([scenario.name, scenario.per, part, ...seconds, Number.isFinite(ratio) ? ratio.toFixed(3) : '-']);
    }
    console.log(`${scenario.name}: done`);
  }
  const headings = ['scenario', 'per', 'CPU seconds of', 'other', 'this', 'this / other'];
  return { text: columns([headings, ...rows]), figures, verdicts: [] };
}

async function start({ startAll, startStores }: typeof service, stack: AsyncDisposableStack, folder: string) {
  mkdirSync(folder);
  return startAll(stack, await startStores(stack, folder));
}

/** What each part costs, and all of them together. The side that begins changes with every turn. */
async function inTurns(scenario: Scenario, targets: Sides<Target>, { rounds, seconds, isQuick }: BenchArguments) {
  const costs: Record<string, Costs> = {};
  const turn = async (side: Side, isWarmUp: boolean) => {
    const target = targets[side];
    const request = await scenario.prepare(target.url, await limitsOf(target.url), isQuick); // anew: it may be used up
    const round = await measureRound(target, { ...scenario, request, seconds: isWarmUp ? WARM_UP_SEC : seconds });
    if (isWarmUp) return;
    for (const [part, cost] of Object.entries(costOf(round, scenario))) {
      costs[part] ??= { other: [], this: [] };
      costs[part][side].push(cost);
    }
  };
  if (!isQuick) for (const side of SIDES) await turn(side, true);
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) await turn(side, false);
  }
  return costs;
}

function costOf({ cpuSec, requests, bytes }: Round, { per }: Scenario): Record<string, number> {
  const units = per === 'GB' ? bytes / 1e9 : requests / 1_000;
  const together = Object.values(cpuSec).reduce((sum, seconds) => sum + seconds, 0);
  return Object.fromEntries(Object.entries({ ...cpuSec, together }).map(([part, seconds]) => [part, seconds / units]));
}
