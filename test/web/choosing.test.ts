import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from '@mayfly/client';
import { freshFolder } from '@mayfly/testing/stores';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { chooseFiles, PROMISE, shownLink } from './sending.ts';

const LIMITS = { MAX_FILE_SIZE: '1MB', MAX_FILES_PER_UPLOAD: '4', NOTE_MAX_SIZE: '1000' };

describeWeb('choosing what to send', { shapes: ['all'], settings: LIMITS }, (web) => {
  const shared = web.sharePage();

  async function sentNames(page: Page): Promise<string[]> {
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    const { metadata, payload } = await web.client.download(await shownLink(page));
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
    await using page = await web.open();
    const context = page.context();
    await page.goto(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    const box = await page.locator('[data-drop]').boundingBox();
    const at = { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 20 };
    const files = ['photos', 'letter.txt'].map((name) => join(folder.path, name));
    const session = await context.newCDPSession(page);
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await session.send('Input.dispatchDragEvent', {
        type,
        ...at,
        data: { items: [], files, dragOperationsMask: 1 },
      });
    }
    await page.getByText('3 files').waitFor();
    expect((await sentNames(page)).sort()).toEqual(['letter.txt', 'photos/more/two.jpg', 'photos/one.jpg']);
  });

  test('a picture is pasted, even while a note is being written', async () => {
    const page = shared();
    await page.goto(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    await page.evaluate(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['pixels'], 'screenshot.png', { type: 'image/png' }));
      dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    });
    await page.getByText('screenshot.png').waitFor();
    expect(await sentNames(page)).toEqual(['screenshot.png']);
  });

  test('files are taken off the list again, and the focus stays in it', async () => {
    const page = shared();
    await page.goto(web.baseUrl);
    await chooseFiles(
      page,
      ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt', 'f.txt'].map((name) => ({ name, buffer: Buffer.from(name) })),
    );
    await page.getByRole('button', { name: 'Remove b.txt' }).press('Enter');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Remove c.txt');
    // More than the service counts: what it is sent is one archive.
    expect((await sentNames(page)).sort()).toEqual(['a.txt', 'c.txt', 'd.txt', 'e.txt', 'f.txt']);
  });

  test.each([
    {
      what: 'one file that is too large',
      names: ['big.bin'],
      sizeBytes: 1_100_000,
      sentence: /“big.bin” is 1.1 MB when encrypted; at most 1 MB/,
    },
    {
      what: 'files that are too large together',
      names: ['a', 'b', 'c'],
      sizeBytes: 400_000,
      sentence: /at most 1 MB can be sent at once/,
    },
    {
      what: 'too many files',
      names: Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(200, 'x')),
      sizeBytes: 1,
      sentence: /the names of these 1,000 files are too long for one upload/,
    },
  ])('$what: a sentence, before anything is encrypted', async ({ names, sizeBytes, sentence }) => {
    await using page = await web.visit(web.baseUrl);
    await chooseFiles(
      page,
      names.map((name) => ({ name, buffer: Buffer.alloc(sizeBytes) })),
    );
    await page.getByRole('alert').filter({ hasText: sentence }).waitFor();
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.locator('[role=alert]:focus').filter({ hasText: sentence }).waitFor();
    expect(page.sent.filter((request) => request.startsWith('POST'))).toEqual([]);
  });

  test('a note without a word is not sent: whoever presses the button is told, and taken to it', async () => {
    await using page = await web.visit(web.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.getByRole('button', { name: 'Encrypt and make a link' }).click();
    await page.getByRole('alert').filter({ hasText: 'There is nothing in the note yet' }).waitFor();
    await page.locator('textarea:focus').fill('now there is');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    expect(page.sent.filter((request) => request.startsWith('POST'))).toEqual([]);
  });

  test('a note that is too long is said before it is sent', async () => {
    const page = shared();
    await page.goto(web.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.getByLabel('The note').fill('ü'.repeat(501));
    await page.getByRole('alert').filter({ hasText: 'Send it as a file instead' }).waitFor();
    await page.getByLabel('The note').fill('ü'.repeat(500));
    await page.getByRole('button', { name: 'Encrypt and make a link' }).click();
    expect((await web.client.viewNote(await shownLink(page))).text).toBe('ü'.repeat(500));
  });

  test('a file that is gone when it is read is an error with a name', async () => {
    await using folder = await freshFolder();
    const path = join(folder.path, 'soon-gone.txt');
    writeFileSync(path, 'here');
    const page = shared();
    await page.goto(web.baseUrl);
    await page.setInputFiles('[data-pick=files]', path);
    writeFileSync(path, 'here, and longer than before');
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.locator('[data-problem=bad-source]').waitFor();
  });

  test('what another program shares with the installed app is ready to be sent', async () => {
    await using page = await web.visit(web.baseUrl);
    await page.evaluate(async () => {
      dispatchEvent(new Event('appinstalled'));
      while (!(await navigator.serviceWorker.getRegistration('/handover/'))?.active)
        await new Promise(requestAnimationFrame);
    });
    // The system sends a form to the app, as this page does.
    const form = `<form method=post action=${web.baseUrl}/handover/share enctype=multipart/form-data><input type=file name=files multiple></form>`;
    await page.route('http://system.example/', (route) => route.fulfill({ contentType: 'text/html', body: form }));
    await page.goto('http://system.example/');
    const files = ['one.txt', 'two.txt'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) }));
    await page.setInputFiles('input', files);
    await page.evaluate(() => document.querySelector('form')?.submit());
    await page.getByText('2 files').waitFor();
    expect(new URL(page.url()).search).toBe('');
    expect(await sentNames(page)).toEqual(['one.txt', 'two.txt']);
  });
});
