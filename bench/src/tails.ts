import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Program, startProgram } from '@mayfly/launcher/program';
import type { BenchArguments } from './arguments.ts';
import type { Task } from './generator.ts';
import { readProcessors } from './guard.ts';
import { type Measured, type MeasuredOpen, median } from './load.ts';
import { setNice } from './priority.ts';
import { startReference } from './references.ts';
import { atMost, type Report, type Verdict } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { type Shape, startAll, startSplit, startStores } from './service.ts';
import { columns } from './table.ts';

const GOAL_MS: Record<Shape, number> = { all: 10, split: 15 };
const SHARE = 0.7;
const MEASURED = ['info', 'note-create', 'note-view'];
/** The same for both loads, since what a request costs depends on how many are under way. */
const CONNECTIONS = 128;
const WARM_UP_SEC = 6;
/** A generator that is later than this share of the goal has measured itself. */
const LATE_SHARE = 0.2;
/** Clients are machines of their own: the requests' never waits for a processor, and those that transfer take what is left. */
const NICE = { generator: -10, transfers: 10 };

type Transfers = { name: string; count: number; bytes: number; bytesPerSec?: number };
const GIGABIT = 125_000_000;
const TRANSFERS: Transfers[] = [
  { name: '20 transfers, 1 Gbit/s', count: 20, bytes: 2 ** 30, bytesPerSec: GIGABIT },
  { name: '20 transfers', count: 20, bytes: 2 ** 30 },
];
const QUICK_TRANSFERS: Transfers[] = [
  { name: '2 transfers, 1 Gbit/s', count: 2, bytes: 2 ** 23, bytesPerSec: GIGABIT },
  { name: '2 transfers', count: 2, bytes: 2 ** 23 },
];

/** `idleShare` of the machine's processors; `transferBytes` of the transfers, in both directions. */
type Beside = { idleShare: number; transferBytes: number };
type Round = { service: MeasuredOpen & Beside; http: MeasuredOpen & Beside };

/**
 * How long small requests take that come at a rate of their own: 70 % of what the service has just answered to as many clients as it
 * can bear; alone, beside 20 transfers that fill a link of 1 Gbit/s, and beside 20 that nothing holds back. At the same rate a Node
 * server that does nothing is asked, beside the same transfers of the service: what it needs, the machine needs.
 */
export async function measureTails(stack: AsyncDisposableStack, folder: string, given: BenchArguments) {
  const http = await startReference(stack, 'http', folder);
  if (!http) throw new Error('the reference was not started');
  const generator = startOwn(stack, 'generator', []);
  setNice(generator.child.pid ?? 0, NICE.generator);
  const measureShape = async (shape: Shape) => {
    await using own = new AsyncDisposableStack();
    const place = join(folder, shape);
    mkdirSync(place);
    const stores = await startStores(own, place, shape === 'split');
    const [target] = shape === 'all' ? [await startAll(own, stores)] : await startSplit(own, stores);
    const { url } = target as { url: string }; // there is one of either
    const figures = [];
    for (const transfers of [undefined, ...(given.isQuick ? QUICK_TRANSFERS : TRANSFERS)]) {
      await using meanwhile = new AsyncDisposableStack();
      const program = transfers && (await startTransfers(meanwhile, url, transfers));
      for (const scenario of SCENARIOS.filter(isMeasured(given))) {
        const beside = transfers?.name ?? 'nothing';
        const rounds = await measureRounds({ url, httpUrl: http.url, generator, transfers: program }, scenario, given);
        figures.push(...figuresOf({ scenario: scenario.name, shape, beside }, rounds));
        console.log(`${scenario.name} on ${shape} beside ${beside}: done`);
      }
    }
    return figures;
  };
  return report([...(await measureShape('all')), ...(await measureShape('split'))]);
}

const isMeasured =
  ({ only }: BenchArguments) =>
  ({ name, connections }: Scenario) =>
    connections === 64 && (only.length > 0 ? only : MEASURED).includes(name);

type Measuring = { url: string; httpUrl: string; generator: Program; transfers: Program | undefined };

async function measureRounds(
  { url, httpUrl, generator, transfers }: Measuring,
  { name, maxRequests }: Scenario,
  { rounds: count, seconds, isQuick }: BenchArguments,
): Promise<Round[]> {
  const load = { url, scenario: name, connections: CONNECTIONS };
  const send = (task: Task) => answerOf(generator, task) as Promise<MeasuredOpen>;
  const besideTransfers = async (task: Task) => {
    const before = await look(transfers);
    const measured = await send(task);
    const after = await look(transfers);
    const idleShare = 1 - (after.busy - before.busy) / (after.total - before.total);
    const transferBytes = (after.movedBytes - before.movedBytes) / (after.at - before.at);
    return { ...measured, idleShare, transferBytes };
  };
  if (!isQuick) await send({ ...load, seconds: WARM_UP_SEC });
  const rounds: Round[] = [];
  for (let round = 1; round <= count; round += 1) {
    const reached: Measured = await send({ ...load, seconds });
    const perSec = (SHARE * reached.requests) / reached.seconds;
    const open = { ...load, perSec, seconds: Math.min(seconds, (maxRequests ?? Number.POSITIVE_INFINITY) / perSec) };
    const service = await besideTransfers(open);
    rounds.push({ service, http: await besideTransfers({ ...open, url: httpUrl, reference: 'http' }) });
  }
  return rounds;
}

async function look(transfers: Program | undefined) {
  const { movedBytes } = transfers ? ((await answerOf(transfers)) as { movedBytes: number }) : { movedBytes: 0 };
  return { ...readProcessors(readFileSync('/proc/stat', 'utf8')), movedBytes, at: performance.now() / 1_000 };
}

type Row = { scenario: string; shape: Shape; beside: string };

function figuresOf(row: Row, rounds: Round[]) {
  return (['service', 'http'] as const).map((target) => {
    const middle = (figure: (round: Round['service']) => number) =>
      median(rounds.map((round) => figure(round[target])));
    return {
      ...row,
      target,
      perSec: middle(({ requests, seconds }) => requests / seconds),
      p50Ms: middle(({ p50Ms }) => p50Ms),
      p99Ms: middle(({ p99Ms }) => p99Ms),
      p999Ms: middle(({ p999Ms }) => p999Ms),
      lateP99Ms: middle(({ lateP99Ms }) => lateP99Ms),
      delayP99Ms: middle(({ delayP99Ms }) => delayP99Ms),
      idleShare: middle(({ idleShare }) => idleShare),
      transferMegabytesPerSec: middle(({ transferBytes }) => transferBytes / 1e6),
      ratioToHttp: median(rounds.map((round) => round[target].p99Ms / round.http.p99Ms)),
    };
  });
}

const HEADINGS = ['scenario', 'shape', 'beside', 'of', 'req/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'p99 / http'];
const HEADINGS_OF_MACHINE = ['late ms', 'delay ms', 'idle %', 'transfers MB/s'];

function report(figures: ReturnType<typeof figuresOf>): Report {
  const rows = figures.map((row) => [
    ...[row.scenario, row.shape, row.beside, row.target, row.perSec.toFixed(0)],
    ...[row.p50Ms, row.p99Ms, row.p999Ms, row.ratioToHttp, row.lateP99Ms, row.delayP99Ms].map((one) => one.toFixed(1)),
    ...[row.idleShare * 100, row.transferMegabytesPerSec].map((one) => one.toFixed(0)),
  ]);
  return {
    text: `${columns([[...HEADINGS, ...HEADINGS_OF_MACHINE], ...rows])}

late and delay: how late, at the 99th percentile, the generator saw that a request was due, and its timers were.`,
    figures,
    verdicts: figures.filter(({ target }) => target === 'service').map(verdictOf),
  };
}

/** A row that the generator was too late for meets no goal. */
function verdictOf({ scenario, shape, beside, p99Ms, lateP99Ms }: ReturnType<typeof figuresOf>[number]): Verdict {
  const verdict = atMost(`${scenario} in ${shape} beside ${beside}, p99`, p99Ms, GOAL_MS[shape], 'ms');
  if (lateP99Ms <= LATE_SHARE * GOAL_MS[shape]) return verdict;
  return { ...verdict, figure: `invalid, the generator was ${lateP99Ms.toFixed(1)} ms late`, isMet: false };
}

function startOwn(stack: AsyncDisposableStack, name: string, args: string[]): Program {
  const entry = join(import.meta.dirname, `${name}.ts`);
  return stack.use(startProgram(process.execPath, [entry, ...args], process.env, { stdout: 'ignore' }));
}

async function startTransfers(stack: AsyncDisposableStack, url: string, { count, bytes, bytesPerSec }: Transfers) {
  const program = startOwn(stack, 'transfers', [url, count, bytes, ...(bytesPerSec ? [bytesPerSec] : [])].map(String));
  setNice(program.child.pid ?? 0, NICE.transfers);
  await nextMessage(program);
  return program;
}

/** What a process of this benchmark answers to a message. Throws when it has ended, or says that it could not do it. */
async function answerOf(program: Program, message: object = {}): Promise<unknown> {
  const answer = nextMessage(program);
  program.child.send(message);
  const { problem, measured, ...other } = (await answer) as { problem?: string; measured?: Measured };
  if (problem !== undefined) throw new Error(problem);
  return measured ?? other;
}

async function nextMessage(program: Program): Promise<unknown> {
  const ended = program.exited.then((how) => {
    throw new Error(`a process of the benchmark ${how}, see above`);
  });
  return (await Promise.race([once(program.child, 'message'), ended]))[0];
}
