import { type Load, type Measured, median, runLoad } from './load.ts';
import { cpuSeconds, peakMemoryBytes } from './proc.ts';
import type { Target } from './target.ts';

export type Round = Measured & {
  /** Processor seconds of the target and its stores; undefined when it runs elsewhere. */
  cpuSec: number | undefined;
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
  /** Most memory of the target's own processes since their start, in MB. */
  peakMegabytes: number | undefined;
};

export async function measureRound(target: Target, load: Omit<Load, 'url'>): Promise<Round> {
  const before = cpuSeconds(target.pids);
  const generatorBefore = process.cpuUsage();
  const measured = await runLoad({ url: target.url, ...load });
  const { user, system } = process.cpuUsage(generatorBefore);
  const cpuSec = target.pids.length > 0 ? cpuSeconds(target.pids) - before : undefined;
  return { ...measured, cpuSec, generatorCpuSec: (user + system) / 1e6 };
}

/** The medians of the rounds, each figure by itself. GB and MB are decimal. */
export function figuresOf(scenario: string, target: Target, rounds: Round[]): Figures {
  const middle = (figure: (round: Round) => number) => median(rounds.map(figure));
  const hasCpu = rounds.every(({ cpuSec }) => cpuSec !== undefined);
  const cpu = ({ cpuSec = 0 }: Round) => cpuSec;
  return {
    scenario,
    target: target.name,
    rounds: rounds.length,
    requestsPerSec: middle((round) => round.requests / round.seconds),
    megabytesPerSec: middle((round) => round.bytes / round.seconds / 1e6),
    p50Ms: middle((round) => round.p50Ms),
    p99Ms: middle((round) => round.p99Ms),
    cpuPerThousand: hasCpu ? middle((round) => (cpu(round) / round.requests) * 1_000) : undefined,
    cpuPerGigabyte: hasCpu ? middle((round) => (cpu(round) / round.bytes) * 1e9) : undefined,
    peakMegabytes: target.memoryPids.length > 0 ? Math.max(...target.memoryPids.map(peakMemoryBytes)) / 1e6 : undefined,
  };
}
