import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { PACKAGE, runKit } from './run-kit.ts';

const run = promisify(execFile);

test('npm pack makes one bundled file that runs alone, with the vectors', async () => {
  await using apart = await freshFolder();
  const packed = await run('npm', ['pack', '--json', '--pack-destination', apart.path], { cwd: PACKAGE });
  const [{ filename, files }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')));
  expect(files.map(({ path }: { path: string }) => path).toSorted()).toEqual([
    'README.md',
    'dist/LICENSE',
    'dist/mayfly-conformance.js',
    'dist/vectors.json',
    'package.json',
  ]);
  await run('tar', ['xzf', filename], { cwd: apart.path });
  const program = join(apart.path, 'package/dist/mayfly-conformance.js');
  expect((await runKit(['--help'], { program })).out).toContain('Usage: mayfly-conformance');
  const client = `${process.execPath} ${join(PACKAGE, '../../libs/client/test/conformance-client.ts')}`;
  const { code, report } = await runKit(['--client', client, '--only', 'keys'], { program });
  expect([code, report?.passed]).toEqual([0, 2]);
});
