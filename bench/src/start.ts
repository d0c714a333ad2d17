import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProgram } from '@mayfly/launcher/program';
import { unusedPort } from '@mayfly/local-stores/ports';
import { cpuSeconds, proportionalBytes } from '@mayfly/testing/proc';
import type { BenchArguments } from './arguments.ts';
import { median, runLoad } from './load.ts';
import { limitsOf } from './messages.ts';
import { atMost, type Report } from './report.ts';
import { scenario } from './scenarios.ts';
import { columns } from './table.ts';

const FIRST_SEC = 15;
const SECOND_SEC = 1.5;
const RESTING_MB = 260;
const LOADED_MB = 400;
const LOADS = [
  'info',
  'note-create',
  'note-view',
  'upload-64k',
  'upload-1m',
  'download-1m',
  'upload-1g',
  'download-1g',
];
const SETTLE_MS = 10_000;
const ROOT = resolve(import.meta.dirname, '../..');

type Start = { seconds: number; cpuSec: number };

/**
 * npm start as somebody meets it who has just cloned the project: how long until the service is well, the first time and
 * again, and what all that runs takes together, npm included, at rest and after load. Packages come from npm's caches.
 */
export async function measureStart(
  stack: AsyncDisposableStack,
  folder: string,
  { rounds, seconds, isQuick, only }: BenchArguments,
): Promise<Report> {
  if (process.platform !== 'linux') throw new Error('start reads memory from /proc: run it on Linux');
  const cwd = join(folder, 'checkout/');
  execFileSync('git', ['checkout-index', '--all', `--prefix=${cwd}`], { cwd: ROOT });
  const PORT = String(await unusedPort());
  const url = `http://127.0.0.1:${PORT}`;
  const { PATH, HOME } = process.env;

  async function start(within: AsyncDisposableStack) {
    const began = performance.now();
    const args = ['--prefix', cwd, 'start'];
    const npm = within.use(startProgram('npm', args, { PATH, HOME, PORT, TRUST_PROXY: '1' }, { stdout: 'ignore' }));
    const isWell = async () => (await fetch(`${url}/api/health`).catch(() => undefined))?.ok; // not listening yet
    for (; !(await isWell()); await sleep(20)) {
      if (npm.child.exitCode !== null) throw new Error(`npm start ended with code ${npm.child.exitCode}`);
    }
    const pid = npm.child.pid ?? 0;
    const taken: Start = { seconds: (performance.now() - began) / 1_000, cpuSec: cpuSeconds([pid]) };
    return { pid, taken };
  }
  async function startAndStop(): Promise<Start> {
    await using once = new AsyncDisposableStack();
    return (await start(once)).taken;
  }

  const first = await startAndStop();
  const again: Start[] = [];
  for (let round = 0; round < rounds; round += 1) again.push(await startAndStop());
  const { pid } = await start(stack);
  await sleep(SETTLE_MS);
  const resting = proportionalBytes(pid);
  for (const name of LOADS.filter((known) =>
    only.length === 0 ? !isQuick || known === 'info' : only.includes(known),
  )) {
    const { prepare, connections, maxRequests } = scenario(name);
    const request = await prepare(url, await limitsOf(url), isQuick);
    await runLoad({ url, connections, maxRequests, seconds, request });
    console.log(`load: ${name}`);
  }
  const loaded = proportionalBytes(pid);

  const second = { seconds: median(again.map((one) => one.seconds)), cpuSec: median(again.map((one) => one.cpuSec)) };
  const [restingMegabytes, loadedMegabytes] = [resting, loaded].map(
    (bytesOf) => Object.values(bytesOf).reduce((sum, bytes) => sum + bytes, 0) / 1e6,
  ) as [number, number]; // of two, two
  const times = Object.entries({ first, again: second }).map(([name, taken]) => [
    name,
    taken.seconds.toFixed(2),
    taken.cpuSec.toFixed(2),
  ]);
  const megabytes = (bytes = 0) => (bytes / 1e6).toFixed(1);
  const memory = Object.keys(loaded).map((name) => [name, megabytes(resting[name]), megabytes(loaded[name])]);
  return {
    text: `${columns([['start', 'seconds', 'CPU s'], ...times])}

${columns([['PSS in MB', 'at rest', 'after load'], ...memory, ['together', restingMegabytes.toFixed(1), loadedMegabytes.toFixed(1)]])}`,
    figures: { first, again, resting, loaded },
    verdicts: [
      atMost('first start', first.seconds, FIRST_SEC, 's'),
      atMost('later start', second.seconds, SECOND_SEC, 's'),
      atMost('PSS of all that runs, at rest', restingMegabytes, RESTING_MB, 'MB'),
      atMost('PSS of all that runs, after load', loadedMegabytes, LOADED_MB, 'MB'),
    ],
  };
}
