import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchArguments } from './arguments.ts';
import { median } from './load.ts';
import { measureRound, type Round } from './measure.ts';
import { limitsOf } from './messages.ts';
import { startForwarder, startProxy } from './references.ts';
import { atMost, type Report, type Verdict } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { startSplit, startStores } from './service.ts';
import { columns } from './table.ts';
import type { Target } from './target.ts';

const MEASURED = ['info', 'exists', 'upload-1g', 'download-1g'];
const WARM_UP_SEC = 6;
const MOST_OF_NGINX = 2;
const MOST_PER_GIGABYTE = 3;
const MOST_PER_THOUSAND = 0.12;

/** Whose processor time is shown: two of the service, and what stands in the gateway's place. */
const PARTS = ['gateway', 'files', 'nginx', 'forwarder'] as const;
type Costs = Record<(typeof PARTS)[number], number>;

/**
 * What each hop of `split` costs: gateway and files beside nginx and a bare forwarder, which stand in turns in the gateway's place
 * before the same files service.
 */
export async function measureHops(stack: AsyncDisposableStack, folder: string, given: BenchArguments): Promise<Report> {
  const stores = await startStores(stack, folder, true);
  const [split] = await startSplit(stack, stores);
  if (!split) throw new Error('one replica was asked for');
  const own = join(folder, 'proxy');
  mkdirSync(own);
  const nginx = await startProxy(stack, own, split.filesUrl);
  if (!nginx) console.log('nginx is skipped: this machine does not have it (Debian: apt-get install nginx-light).');
  const targets = [split, ...(nginx ? [nginx] : []), await startForwarder(stack, split.filesUrl)];
  const wanted = MEASURED.filter((known) => given.only.length === 0 || given.only.includes(known));
  const figures: { scenario: string; per: Scenario['per']; costs: Costs }[] = [];
  for (const scenario of SCENARIOS.filter(({ name }) => wanted.includes(name))) {
    const costs = await inTurns(scenario, targets, given);
    figures.push({ scenario: scenario.name, per: scenario.per, costs });
  }
  const ratio = (figure: number) => (Number.isFinite(figure) ? figure.toFixed(2) : '-');
  const rows = figures.map(({ scenario, per, costs: { gateway, files, nginx: proxy, forwarder } }) => [
    scenario,
    per,
    ...[gateway, files, proxy, forwarder].map((seconds) => ratio(seconds)),
    ...[gateway / proxy, files / proxy, gateway / forwarder].map(ratio),
  ]);
  const headings = ['gateway / nginx', 'files / nginx', 'gateway / forwarder'];
  return {
    text: columns([['CPU seconds', 'per', ...PARTS, ...headings], ...rows]),
    figures,
    verdicts: figures.flatMap(judge),
  };
}

/** The medians of the rounds. What was not measured is not a number. */
async function inTurns(scenario: Scenario, targets: Target[], { rounds, seconds, isQuick }: BenchArguments) {
  const costs = Object.fromEntries(PARTS.map((part) => [part, [] as number[]]));
  for (let round = isQuick ? 1 : 0; round <= rounds; round += 1) {
    for (const target of targets) {
      const request = await scenario.prepare(target.url, await limitsOf(targets[0]?.url ?? ''), isQuick);
      const measured = await measureRound(target, { ...scenario, request, seconds: round > 0 ? seconds : WARM_UP_SEC });
      if (round > 0)
        for (const part of PARTS) if (part in measured.cpuSec) costs[part]?.push(costOf(part, measured, scenario));
    }
    console.log(round === 0 ? `warmed up: ${scenario.name}` : `round ${round} of ${rounds}: ${scenario.name}`);
  }
  return Object.fromEntries(PARTS.map((part) => [part, median(costs[part] ?? [])])) as Costs; // of the same parts
}

const costOf = (part: string, { cpuSec, requests, bytes }: Round, { per }: Scenario) =>
  (cpuSec[part] ?? 0) / (per === 'GB' ? bytes / 1e9 : requests / 1_000);

function judge({
  scenario,
  per,
  costs: { gateway, files, nginx },
}: {
  scenario: string;
  per: Scenario['per'];
  costs: Costs;
}) {
  if (per !== 'GB') return [atMost(`gateway, ${scenario}`, gateway, MOST_PER_THOUSAND, 'CPU s per 1,000')];
  const verdicts: Verdict[] = [
    atMost(`gateway and files, ${scenario}`, gateway + files, MOST_PER_GIGABYTE, 'CPU s per GB'),
  ];
  if (nginx) {
    verdicts.push(atMost(`gateway, ${scenario}`, gateway / nginx, MOST_OF_NGINX, 'of nginx'));
    verdicts.push(atMost(`files, ${scenario}`, files / nginx, MOST_OF_NGINX, 'of nginx'));
  }
  return verdicts;
}
