import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds } from '@mayfly/testing/proc';
import type { BenchArguments } from './arguments.ts';
import { median, runLoad } from './load.ts';
import { limitsOf } from './messages.ts';
import type { Report } from './report.ts';
import { scenario } from './scenarios.ts';
import { startSplit, startStores } from './service.ts';
import { columns } from './table.ts';
import type { Target } from './target.ts';

const REPLICAS = [1, 2, 4];
const MOST = 4;
const SMALL = ['info', 'note-create', 'note-view', 'upload-64k', 'download-64k'];
const BYTES = ['upload-1m', 'download-1m'];
const CONNECTIONS_OF_EACH = 16;
/** Of each replica: by then V8 has compiled what it will, however long that takes here. */
const WARM_UP = { requests: 3_000, seconds: 60 };
const SETTLES_MS = 3_000;
/** Of a thousand requests: looks, new notes, views. */
const MIX = { info: 0.6, 'note-create': 0.2, 'note-view': 0.2 };
const RATES = [1_000, 10_000, 40_000];

type Seconds = Record<string, number>;
type Cost = { scenario: string; per: string; replicas: number; seconds: Seconds };

/**
 * What a thousand small requests and what a GB cost each kind of process and each store, in CPU seconds, with one, two and four
 * replicas; and how many cores so many requests a second take. What all of them take at rest is not counted. None of it depends on
 * how fast this machine is at the moment.
 */
export async function measureCapacity(
  stack: AsyncDisposableStack,
  folder: string,
  { rounds, seconds, only, isQuick }: BenchArguments,
): Promise<Report> {
  const targets = await startSplit(stack, await startStores(stack, folder, true), MOST);
  const url = targets[0]?.url ?? '';
  const limits = await limitsOf(url);
  const idle = await restOf(targets, seconds);
  const costs: Cost[] = [];
  for (const name of [...SMALL, ...BYTES].filter((known) => only.length === 0 || only.includes(known))) {
    const { prepare, maxRequests = Number.POSITIVE_INFINITY } = scenario(name);
    const load = async (used: Target[], most: number, forSec: number) => {
      const request = await prepare(url, limits, isQuick);
      const before = cpuOf(targets);
      const began = performance.now();
      const loads = await Promise.all(
        used.map((target, turn) =>
          runLoad({
            url: target.url,
            connections: CONNECTIONS_OF_EACH,
            seconds: forSec,
            maxRequests: most,
            request: (index) => request(index * MOST + turn),
          }),
        ),
      );
      const elapsedSec = (performance.now() - began) / 1_000;
      const spent = mapOf(cpuOf(targets), (sec, part) => sec - (before[part] ?? 0) - (idle[part] ?? 0) * elapsedSec);
      const sum = (of: 'requests' | 'bytes') => loads.reduce((total, one) => total + one[of], 0);
      return { requests: sum('requests'), bytes: sum('bytes'), spent };
    };
    const isSmall = SMALL.includes(name);
    await load(targets, Math.min(isSmall ? WARM_UP.requests : 100, maxRequests / MOST), isQuick ? 1 : WARM_UP.seconds);
    for (const replicas of REPLICAS) {
      const measured: Awaited<ReturnType<typeof load>>[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        measured.push(await load(targets.slice(0, replicas), maxRequests / replicas, seconds));
      }
      const perUnit = (part: string) =>
        median(
          measured.map(({ requests, bytes, spent }) => (spent[part] ?? 0) / (isSmall ? requests / 1e3 : bytes / 1e9)),
        );
      const perPart = mapOf(idle, (_, part) => Math.max(perUnit(part), 0));
      costs.push({ scenario: name, per: isSmall ? '1,000' : 'GB', replicas, seconds: perPart });
      console.log(`${name} on ${replicas}`);
    }
  }
  return {
    text: `${costTable(costs, Object.keys(idle))}\n\n${wallTable(costs)}`,
    figures: { idle, costs },
    verdicts: [],
  };
}

/** CPU seconds until now, of all processes of a kind together. */
function cpuOf(targets: Target[]): Seconds {
  const pids = Map.groupBy(
    targets.flatMap(({ processes, stores }) => Object.entries({ ...processes, ...stores })),
    ([name]) => name,
  );
  return Object.fromEntries(
    [...pids].map(([name, all]) => [name, cpuSeconds([...new Set(all.map(([, pid]) => pid))])]),
  );
}

/** CPU seconds of each kind in a second without requests. */
async function restOf(targets: Target[], seconds: number): Promise<Seconds> {
  await sleep(SETTLES_MS);
  const before = cpuOf(targets);
  const began = performance.now();
  await sleep(seconds * 1_000);
  const elapsedSec = (performance.now() - began) / 1_000;
  return mapOf(cpuOf(targets), (sec, part) => (sec - (before[part] ?? 0)) / elapsedSec);
}

function costTable(costs: Cost[], parts: string[]): string {
  const rows = costs.map(({ scenario: name, per, replicas, seconds }) => [
    name,
    String(replicas),
    per,
    ...parts.map((part) => (seconds[part] ?? 0).toFixed(3)),
  ]);
  return columns([['scenario', 'replicas', 'CPU s per', ...parts], ...rows]);
}

/** Cores that a mix of small requests takes, with the dearest number of replicas. */
function wallTable(costs: Cost[]): string {
  const parts = Object.keys(costs[0]?.seconds ?? {});
  const perThousand = (part: string) =>
    Object.entries(MIX).reduce((sum, [name, share]) => {
      const of = costs.filter((cost) => cost.scenario === name).map(({ seconds }) => seconds[part] ?? 0);
      return sum + share * Math.max(0, ...of);
    }, 0);
  const rows = parts.map((part) => [
    part,
    perThousand(part).toFixed(3),
    ...RATES.map((rate) => ((perThousand(part) * rate) / 1_000).toFixed(2)),
    perThousand(part) > 0 ? (1_000 / perThousand(part)).toFixed(0) : '-',
  ]);
  const headings = RATES.map((rate) => `cores at ${rate}/s`);
  return columns([['part', 'CPU s per 1,000', ...headings, 'requests/s of one core'], ...rows]);
}

function mapOf(record: Seconds, map: (value: number, name: string) => number): Seconds {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}
