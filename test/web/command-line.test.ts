import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { runCli } from '../support/mayfly-cli.ts';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { sendFiles, sendNote } from './sending.ts';

/** Both sides speak the contract, which is tested on every shape. */
describeWeb('a page and the command line', { shapes: SHAPES.slice(0, 1) }, (web) => {
  const folder = inSuite(() => freshFolder());

  /** What the command prints; it must succeed. */
  async function mayfly(args: string[], env: Record<string, string> = {}): Promise<string> {
    const result = await runCli(args, { cwd: folder().path, env: { MAYFLY_SERVER: web.baseUrl, ...env } });
    expect([result.code, result.code === 0 ? '' : result.err]).toEqual([0, '']);
    return result.out.trim();
  }

  test('the page sends, the command receives: files with a password, and a note', async () => {
    await using page = await web.open();
    const files = ['one', 'two'].map((name) => ({ name: `${name}.txt`, buffer: Buffer.from(`${name}, from a page`) }));
    const link = await sendFiles(page, web.baseUrl, files, { password: 'Grüße 1' });
    await mayfly(['get', link, '-o', 'from-page'], { MAYFLY_PASSWORD: 'Grüße 1' });
    expect((await readdir(join(folder().path, 'from-page'))).toSorted()).toEqual(['one.txt', 'two.txt']);
    expect(await readFile(join(folder().path, 'from-page/two.txt'), 'utf8')).toBe('two, from a page');
    const note = await sendNote(page, web.baseUrl, 'a note from a page', {});
    expect(await mayfly(['get', note])).toBe('a note from a page');
  });

  test('the command sends, the page receives: a file, and a note', async () => {
    await writeFile(join(folder().path, 'report.txt'), 'from the command line');
    const link = await mayfly(['send', 'report.txt']);
    await using page = await web.visit(link, {}, noPicker);
    await page.getByText('report.txt').first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('report.txt');
    expect(await readFile(await download.path(), 'utf8')).toBe('from the command line');

    await page.goto(await mayfly(['note', 'a note from the command line']));
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('a note from the command line').waitFor();
  });
});
