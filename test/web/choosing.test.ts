import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MayflyClient, unpack } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { freshFolder } from '@mayfly/local-stores/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningShape } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { chooseFiles, shownLink } from './sending.ts';
import { startWebService } from './web-service.ts';

describe.skipIf(!CHROMIUM)('choosing what to send (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let client: MayflyClient;
  beforeAll(async () => {
    const limits = { MAX_FILE_SIZE: '1MB', MAX_FILES_PER_UPLOAD: '4', NOTE_MAX_SIZE: '1000' };
    [service, browser] = await Promise.all([startWebService('all', limits), startBrowser()]);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  async function sentNames(page: Page): Promise<string[]> {
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    const { metadata, payload } = await client.download(await shownLink(page));
    const names: string[] = [];
    for await (const { name } of unpack(metadata, payload)) names.push(name);
    return names;
  }

  test('a folder and a file are dropped, as from the desktop', async () => {
    await using folder = await freshFolder();
    mkdirSync(join(folder.path, 'photos/more'), { recursive: true });
    writeFileSync(join(folder.path, 'photos/one.jpg'), 'one');
    writeFileSync(join(folder.path, 'photos/more/two.jpg'), 'two');
    writeFileSync(join(folder.path, 'letter.txt'), 'dear');
    await using watched = await openPage(browser);
    const { page, context } = watched;
    await page.goto(service.baseUrl);
    await page.getByLabel('Gone after').waitFor();
    const box = await page.locator('[data-drop]').boundingBox();
    const at = { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 20 };
    const files = ['photos', 'letter.txt'].map((name) => join(folder.path, name));
    const session = await context.newCDPSession(page);
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await session.send('Input.dispatchDragEvent', { type, ...at, data: { items: [], files, dragOperationsMask: 1 } });
    }
    await page.getByText('3 files').waitFor();
    expect((await sentNames(page)).sort()).toEqual(['letter.txt', 'photos/more/two.jpg', 'photos/one.jpg']);
    expect(watched.faults).toEqual([]);
  });

  test('a picture is pasted, even while a note is being written', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.getByLabel('Gone after').waitFor();
    await page.evaluate(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['pixels'], 'screenshot.png', { type: 'image/png' }));
      dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    });
    await page.getByText('screenshot.png').waitFor();
    expect(await sentNames(page)).toEqual(['screenshot.png']);
    expect(watched.faults).toEqual([]);
  });

  test('files are taken off the list again, and the focus stays in it', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await chooseFiles(
      page,
      ['a.txt', 'b.txt', 'c.txt'].map((name) => ({ name, buffer: Buffer.from(name) })),
    );
    await page.getByRole('button', { name: 'Remove b.txt' }).press('Enter');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Remove c.txt');
    expect((await sentNames(page)).sort()).toEqual(['a.txt', 'c.txt']);
    expect(watched.faults).toEqual([]);
  });

  test.each([
    {
      what: 'one file that is too large',
      names: ['big.bin'],
      sizeBytes: 1_100_000,
      sentence: /“big.bin” is 1 MB when encrypted; at most 1 MB/,
    },
    {
      what: 'files that are too large together',
      names: ['a', 'b', 'c'],
      sizeBytes: 400_000,
      sentence: /at most 1 MB can be sent at once/,
    },
    {
      what: 'too many files',
      names: ['a', 'b', 'c', 'd', 'e'],
      sizeBytes: 1,
      sentence: /These are 5 files; at most 4/,
    },
  ])('$what: a sentence, before anything is encrypted', async ({ names, sizeBytes, sentence }) => {
    await using watched = await openPage(browser);
    const { page, requests } = watched;
    await page.goto(service.baseUrl);
    await chooseFiles(
      page,
      names.map((name) => ({ name, buffer: Buffer.alloc(sizeBytes) })),
    );
    await page.getByRole('alert').filter({ hasText: sentence }).waitFor();
    expect(await page.getByRole('button', { name: 'Encrypt and send' }).isDisabled()).toBe(true);
    expect(requests.filter((request) => request.startsWith('POST'))).toEqual([]);
    expect(watched.faults).toEqual([]);
  });

  test('a note that is too long is said before it is sent', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.getByLabel('The note').fill('ü'.repeat(501));
    await page.getByRole('alert').filter({ hasText: 'Send it as a file instead' }).waitFor();
    await page.getByLabel('The note').fill('ü'.repeat(500));
    await page.getByRole('button', { name: 'Encrypt and make a link' }).click();
    expect((await client.viewNote(await shownLink(page))).text).toBe('ü'.repeat(500));
    expect(watched.faults).toEqual([]);
  });

  test('a file that is gone when it is read is an error with a name', async () => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'soon-gone.txt');
    writeFileSync(path, 'here');
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.setInputFiles('[data-pick=files]', path);
    writeFileSync(path, 'here, and longer than before');
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.locator('[data-problem=bad-source]').waitFor();
    expect(watched.faults).toEqual([]);
  });

  test('what another program shares with the installed app is ready to be sent', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.evaluate(async () => {
      dispatchEvent(new Event('appinstalled'));
      while (!(await navigator.serviceWorker.getRegistration('/handover/'))?.active)
        await new Promise(requestAnimationFrame);
    });
    // The system sends a form to the app, as this page does.
    const form =
      '<form method=post action=/handover/share enctype=multipart/form-data><input type=file name=files multiple></form>';
    await page.route('**/system', (route) => route.fulfill({ contentType: 'text/html', body: form }));
    await page.goto(`${service.baseUrl}/system`);
    const files = ['one.txt', 'two.txt'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) }));
    await page.setInputFiles('input', files);
    await page.evaluate(() => document.querySelector('form')?.submit());
    await page.getByText('2 files').waitFor();
    expect(new URL(page.url()).search).toBe('');
    expect(await sentNames(page)).toEqual(['one.txt', 'two.txt']);
    expect(watched.faults).toEqual([]);
  });
});
