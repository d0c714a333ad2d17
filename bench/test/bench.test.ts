import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

test.skipIf(process.platform !== 'linux')(
  'a quick run of one scenario prints a line for the service and each reference, and judges the goals (needs /proc: Linux)',
  async () => {
    const args = ['scripts/bench.ts', '--quick', '--only', 'exists'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    for (const target of ['http', 'fastify', 'all']) {
      expect(stdout).toMatch(new RegExp(`^exists +${target}( +\\d+\\.?\\d*){7}$`, 'm'));
    }
    expect(stdout).toMatch(/^(met|MISSED) +\d.* exists at most 0.2 CPU s per 1,000$/m);
  },
);

test('a scenario that does not exist is refused with the names of those that do', async () => {
  const run = promisify(execFile)(process.execPath, ['scripts/bench.ts', '--only', 'nothing'], { cwd: root });
  await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('info, exists, note-get') });
});
