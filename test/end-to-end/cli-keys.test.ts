import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inSuite } from '@mayfly/testing/in-suite';
import { startShape } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { beforeAll, describe, expect, test } from 'vitest';
import { cliFolder } from '../support/cli-folder.ts';
import { runCli } from '../support/mayfly-cli.ts';

const KEY = `mfk_${randomBytes(32).toString('base64url')}`;

describe('the command line where creating takes a key', () => {
  const CREATE_KEYS = createHash('sha256').update(KEY).digest('hex');
  const running = inSuite(() => startShape('split', { CREATE_GUARD: 'key', CREATE_KEYS }));
  const { inFolder, ...folder } = cliFolder(() => running().baseUrl);
  beforeAll(() => writeFile(inFolder('report.pdf'), 'a report'));
  const cli = (args: string[], key?: string) => folder.cli(args, key ? { env: { MAYFLY_KEY: key } } : {});

  test.each([
    ['send', 'report.pdf'],
    ['note', 'a word'],
    ['request', 'Documents'],
  ])('%s works with the key, and not without', async (...args) => {
    const without = await cli(args);
    expect([without.code, without.err]).toEqual([13, expect.stringContaining('takes a key: set MAYFLY_KEY')]);
    const wrong = await cli(args, `mfk_${randomBytes(32).toString('base64url')}`);
    expect([wrong.code, wrong.err]).toEqual([13, expect.stringContaining('does not know the key in MAYFLY_KEY')]);
    expect((await cli(args, KEY)).code).toBe(0);
  });

  test('whoever answers a request needs no key, each time', async () => {
    const { dropLink, keepLink } = JSON.parse((await cli(['request', 'Documents', '--json'], KEY)).out);
    for (let time = 0; time < 2; time++) expect((await cli(['drop', dropLink, 'report.pdf'])).code).toBe(0);
    expect((await cli(['collect', keepLink, '-o', 'collected'])).code).toBe(0);
    const folders = await readdir(inFolder('collected'));
    expect(folders).toHaveLength(2);
    for (const name of folders) {
      expect(await readFile(inFolder('collected', name, 'report.pdf'), 'utf8')).toBe('a report');
    }
  });
});

describe('the command line where creating takes a sign-in', () => {
  test('says so, whatever it has', async () => {
    const settings = { CREATE_GUARD: 'oidc', OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'mayfly' };
    await using running = await startShape('all', settings);
    await using folder = await freshFolder();
    await writeFile(join(folder.path, 'report.pdf'), 'a report');
    for (const args of [
      ['send', 'report.pdf'],
      ['note', 'a word'],
      ['request', 'Documents'],
    ]) {
      const env = { MAYFLY_SERVER: running.baseUrl, MAYFLY_KEY: KEY };
      const { code, err } = await runCli(args, { cwd: folder.path, env });
      expect([code, err]).toEqual([13, expect.stringContaining('takes a sign-in')]);
    }
  });
});
