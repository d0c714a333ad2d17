import { cpuSeconds, forgetPeak, peakMemoryBytes } from '@mayfly/testing/proc';
import { type Load, type Measured, median, runLoad } from './load.ts';
import type { Target } from './target.ts';

export type Round = Measured & {
  /** Processor seconds of each process of the target and each of its stores; none when it runs elsewhere. */
  cpuSec: Record<string, number>;
  /** Most memory of each process of the target meanwhile, in bytes. */
  peakBytes: Record<string, number>;
  /** Processor seconds of the load generator. */
  generatorCpuSec: number;
};

export type Figures = {
  scenario: string;
  target: string;
  rounds: number;
  requestsPerSec: number;
  megabytesPerSec: number;
  p50Ms: number;
  p99Ms: number;
  cpuPerThousand: number | undefined;
  cpuPerGigabyte: number | undefined;
  /** The same of each process and store. */
  cpuPerThousandOf: Record<string, number>;
  /** Most memory of each of the target's own processes in any of the rounds, in MB. */
  peakMegabytesOf: Record<string, number>;
};

export async function measureRound(target: Target, load: Omit<Load, 'url'>): Promise<Round> {
  const before = cpuOf(target);
  for (const pid of Object.values(target.processes)) forgetPeak(pid);
  const generatorBefore = process.cpuUsage();
  const measured = await runLoad({ url: target.url, ...load });
  const { user, system } = process.cpuUsage(generatorBefore);
  const cpuSec = mapValues(cpuOf(target), (seconds, name) => seconds - (before[name] ?? 0));
  const peakBytes = mapValues(target.processes, peakMemoryBytes);
  return { ...measured, cpuSec, peakBytes, generatorCpuSec: (user + system) / 1e6 };
}

/** The medians of the rounds, each figure by itself. GB and MB are decimal. */
export function figuresOf(scenario: string, target: Target, rounds: Round[]): Figures {
  const middle = (figure: (round: Round) => number) => median(rounds.map(figure));
  const pids = Object.values(target.processes);
  const cpu = ({ cpuSec }: Round) => Object.values(cpuSec).reduce((sum, seconds) => sum + seconds, 0);
  const perThousand = (name: string) => middle((round) => ((round.cpuSec[name] ?? 0) / round.requests) * 1_000);
  return {
    scenario,
    target: target.name,
    rounds: rounds.length,
    requestsPerSec: middle((round) => round.requests / round.seconds),
    megabytesPerSec: middle((round) => round.bytes / round.seconds / 1e6),
    p50Ms: middle((round) => round.p50Ms),
    p99Ms: middle((round) => round.p99Ms),
    cpuPerThousand: pids.length > 0 ? middle((round) => (cpu(round) / round.requests) * 1_000) : undefined,
    cpuPerGigabyte: pids.length > 0 ? middle((round) => (cpu(round) / round.bytes) * 1e9) : undefined,
    cpuPerThousandOf: mapValues({ ...target.processes, ...target.stores }, (_, name) => perThousand(name)),
    peakMegabytesOf: mapValues(target.processes, (_, name) =>
      Math.max(...rounds.map(({ peakBytes }) => (peakBytes[name] ?? 0) / 1e6)),
    ),
  };
}

function cpuOf({ processes, stores }: Target): Record<string, number> {
  return mapValues({ ...processes, ...stores }, (pid) => cpuSeconds([pid]));
}

function mapValues(record: Record<string, number>, map: (value: number, name: string) => number) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}
