import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningShape, startShape } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/mayfly-cli.ts';

const KEY = `mfk_${randomBytes(32).toString('base64url')}`;

describe('the command line where creating takes a key', () => {
  const stack = new AsyncDisposableStack();
  let running: RunningShape;
  let folder: Awaited<ReturnType<typeof freshFolder>>;
  beforeAll(async () => {
    const CREATE_KEYS = createHash('sha256').update(KEY).digest('hex');
    running = stack.use(await startShape('split', { CREATE_GUARD: 'key', CREATE_KEYS }));
    folder = stack.use(await freshFolder());
    await writeFile(join(folder.path, 'report.pdf'), 'a report');
  });
  afterAll(() => stack.disposeAsync());
  const cli = (args: string[], key?: string) =>
    runCli(args, {
      cwd: folder.path,
      env: { MAYFLY_SERVER: running.baseUrl, ...(key ? { MAYFLY_KEY: key } : {}) },
    });

  test.each([
    ['send', 'report.pdf'],
    ['note', 'a word'],
    ['request', 'Documents'],
  ])('%s works with the key, and not without', async (...args) => {
    expect((await cli(args)).code).not.toBe(0);
    expect((await cli(args, `mfk_${randomBytes(32).toString('base64url')}`)).code).not.toBe(0);
    expect((await cli(args, KEY)).code).toBe(0);
  });

  test('whoever answers a request needs no key, each time', async () => {
    const { dropLink, keepLink } = JSON.parse((await cli(['request', 'Documents', '--json'], KEY)).out);
    for (let time = 0; time < 2; time++) expect((await cli(['drop', dropLink, 'report.pdf'])).code).toBe(0);
    expect((await cli(['collect', keepLink, '-o', 'collected'])).code).toBe(0);
    const folders = await readdir(join(folder.path, 'collected'));
    expect(folders).toHaveLength(2);
    for (const name of folders) {
      expect(await readFile(join(folder.path, 'collected', name, 'report.pdf'), 'utf8')).toBe('a report');
    }
  });
});
