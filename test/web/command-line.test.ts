import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/local-stores/testing';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../infra/mayfly-cli.ts';
import { type RunningShape, SHAPES } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { sendFiles, sendNote } from './sending.ts';
import { startWebService } from './web-service.ts';

describe.skipIf(!CHROMIUM).each(SHAPES)('a page and the command line (%s; needs Chromium, else skipped)', (shape) => {
  let service: RunningShape;
  let browser: Browser;
  let folder: Awaited<ReturnType<typeof freshFolder>>;
  beforeAll(async () => {
    folder = await freshFolder();
    [service, browser] = await Promise.all([startWebService(shape), startBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  /** What the command prints; it must succeed. */
  async function mayfly(args: string[], env: Record<string, string> = {}): Promise<string> {
    const result = await runCli(args, { cwd: folder.path, env: { MAYFLY_SERVER: service.baseUrl, ...env } });
    expect([result.code, result.code === 0 ? '' : result.err]).toEqual([0, '']);
    return result.out.trim();
  }

  test('the page sends, the command receives: files with a password, and a note', async () => {
    await using watched = await openPage(browser);
    const files = ['one', 'two'].map((name) => ({ name: `${name}.txt`, buffer: Buffer.from(`${name}, from a page`) }));
    const link = await sendFiles(watched.page, service.baseUrl, files, { password: 'Grüße 1' });
    await mayfly(['get', link, '-o', 'from-page'], { MAYFLY_PASSWORD: 'Grüße 1' });
    expect((await readdir(join(folder.path, 'from-page'))).toSorted()).toEqual(['one.txt', 'two.txt']);
    expect(await readFile(join(folder.path, 'from-page/two.txt'), 'utf8')).toBe('two, from a page');
    const note = await sendNote(watched.page, service.baseUrl, 'a note from a page', {});
    expect(await mayfly(['get', note])).toBe('a note from a page');
    expect(watched.faults).toEqual([]);
  });

  test('the command sends, the page receives: a file, and a note', async () => {
    await writeFile(join(folder.path, 'report.txt'), 'from the command line');
    const link = await mayfly(['send', 'report.txt']);
    await using watched = await openPage(browser, {}, (context) =>
      context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker')),
    );
    const { page } = watched;
    await page.goto(link);
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
    expect(watched.faults).toEqual([]);
  });
});
