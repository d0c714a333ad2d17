import { execFile, spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

test.skipIf(process.platform !== 'linux')(
  'a quick run of one scenario prints a line for the service and each reference, their ratios, and judges the goals (needs /proc: Linux)',
  async () => {
    const args = ['scripts/bench.ts', '--quick', '--only', 'exists'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    for (const target of ['http', 'fastify', 'all']) {
      expect(stdout).toMatch(new RegExp(`^exists +${target}( +\\d+\\.?\\d*){7}( |$)`, 'm'));
    }
    expect(stdout).toMatch(/^exists +all \/ fastify( +\d+\.\d+){2}$/m);
    expect(stdout).toMatch(/^(met|MISSED) +\d.* exists at most 0.2 CPU s per 1,000$/m);
  },
);

test.skipIf(process.platform !== 'linux').each([
  [
    'crowd',
    /^beside 100 idle and 10 slow +[\d.]+ +\d+$/m,
    /p99 beside 100 idle clients and 10 slow downloads at most 2 x/,
  ],
  [
    'leases',
    /^ *64 KiB +lease, ended +[\d.]+ +[\d.]+ +[\d.]+$/m,
    /1 MiB: CPU of a download with a lease at most 1.1 of/,
  ],
  ['command-line', /^up +piece +this( +[\d.]+){4}$/m, /down, folder-parts: memory at most 100 MB/],
  [
    'tails --only info',
    /^info +split +2 transfers, 1 Gbit\/s +(service|http)( +[\d.]+){9}$/m,
    /info in all beside nothing, p99 at most 10 ms/,
  ],
  [
    'hops --only info',
    /^info +1,000 requests( +[\d.]+){2}( +(?:[\d.]+|-)){5}$/m,
    /gateway, info at most 0.12 CPU s per 1,000/,
  ],
  ['start', /^together( +[\d.]+){2}$/m, /PSS of all that runs, after load at most 400 MB/],
  ['growth', /^note-view +10,000 +[\d.]+ +[\d.]+$/m, /Redis bytes per client, most by least at most 1.1 x/],
])(
  'a quick run of %s prints its figures and judges its goals (needs /proc: Linux)',
  async (kind, figures, goal) => {
    const args = ['scripts/bench.ts', ...kind.split(' '), '--quick'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    expect(stdout).toMatch(figures);
    expect(stdout).toMatch(goal);
  },
  300_000,
); // growth fills three databases, start installs and builds everything: a busy machine takes minutes

test.skipIf(process.platform !== 'linux')(
  'it stops before it measures while others take the machine (needs /proc: Linux)',
  async () => {
    using others = new DisposableStack();
    for (const _ of cpus()) {
      const busy = spawn(process.execPath, ['-e', 'for (;;);']);
      others.defer(() => busy.kill('SIGKILL'));
    }
    const run = promisify(execFile)(process.execPath, ['scripts/bench.ts', '--only', 'exists'], { cwd: root });
    await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('other programs take') });
  },
);

test.skipIf(process.platform !== 'linux')(
  'a quick run beside the same code prints what each part costs, and their ratio (needs /proc: Linux)',
  async () => {
    const args = ['scripts/bench.ts', 'beside', '--other', root, '--quick', '--only', 'exists'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    for (const part of ['all', 'postgres', 'redis', 'together']) {
      expect(stdout).toMatch(new RegExp(`^exists +1,000 requests +${part} +[\\d.]+ +[\\d.]+ +(?:[\\d.]+|-)$`, 'm'));
    }
  },
);

test('a scenario that does not exist is refused with the names of those that do', async () => {
  const run = promisify(execFile)(process.execPath, ['scripts/bench.ts', '--only', 'nothing'], { cwd: root });
  await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('info, exists, note-get') });
});
