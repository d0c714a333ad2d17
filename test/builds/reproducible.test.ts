import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freshFolder } from '@mayfly/testing/stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyWorkspace } from '../support/copied-workspace.ts';

// Decision same-bytes: who builds the same commit gets the same bytes, whatever folder, time zone and language that happens in.

const run = promisify(execFile);
const folder = await freshFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const first = join(folder.path, 'first');
const second = join(folder.path, 'somewhere', 'else', 'again');
beforeAll(() => copyWorkspace(['apps/web', 'apps/cli'], first));

function build(root: string, script: string, cwd: string, env: Record<string, string> = {}) {
  return run(process.execPath, [join(root, script)], { cwd, env: { PATH: process.env.PATH, ...env } });
}

/** By path; the stamp of the sources is not among what is served or packed. */
function hashes(dist: string): Record<string, string> {
  const paths = globSync('**/*', { cwd: dist, withFileTypes: true }).filter((entry) => entry.isFile());
  const read = paths.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(
    read.map((path) => [path.slice(dist.length + 1), createHash('sha256').update(readFileSync(path)).digest('hex')]),
  );
}

test('the web app and the command line are the same bytes in every folder', async () => {
  const abroad = { TZ: 'Asia/Kolkata', LC_ALL: 'tr_TR.UTF-8' };
  await build(first, 'apps/web/build/build.ts', folder.path, abroad);
  const web = hashes(join(first, 'apps/web/dist'));
  expect(Object.keys(web).length).toBeGreaterThan(200);
  expect(web).toEqual(hashes(process.env.TEST_WEB_DIR ?? ''));

  await build(first, 'apps/cli/build.ts', folder.path);
  const cli = hashes(join(first, 'apps/cli/dist'));
  expect(Object.keys(cli)).toContain('mayfly.js');
  mkdirSync(join(second, '..'), { recursive: true });
  renameSync(first, second);
  await build(second, 'apps/cli/build.ts', join(second, 'apps/cli'), abroad);
  expect(hashes(join(second, 'apps/cli/dist'))).toEqual(cli);
});
