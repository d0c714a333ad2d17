import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningShape } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { problemsOfLooks } from './looks.ts';
import { chooseFiles, shownLink } from './sending.ts';
import { startWebService } from './web-service.ts';

const file = (name: string, size: number) => ({ name, buffer: Buffer.alloc(size, name) });

describe.skipIf(!CHROMIUM)('every page, in light and dark, wide and narrow (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let client: MayflyClient;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService('all'), startBrowser()]);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  /** No violation of accessibility rules, nothing wider than the screen. */
  async function check(page: Page, name: string) {
    expect(await problemsOfLooks(page, name)).toEqual([]);
  }

  const stay = { expireSec: 3600, maxDownloads: 3 };
  const source = (name: string, size: number) => new File([Buffer.alloc(size, 1)], name);

  test('sending files, from the first page to the link', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.getByLabel('Gone after').waitFor();
    await check(page, 'send');
    await chooseFiles(page, [
      file('holiday/beach at dusk.jpg', 3_400_000),
      file('letter.pdf', 180_000),
      file('notes.txt', 2_000),
    ]);
    await page.getByLabel('Password', { exact: false }).fill('correct horse');
    await check(page, 'send-chosen');
    let proceed = () => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    await page.route('**/api/upload', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.getByRole('heading', { name: /Encrypting|Sending/ }).waitFor();
    await check(page, 'send-busy');
    proceed();
    await shownLink(page);
    await page.getByText('QR code').click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await page.getByText('Link and key separately').click();
    await check(page, 'send-done');
    expect(watched.faults).toEqual([]);
  });

  test('sending a note', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.getByLabel('The note').fill('The door code is 4711.\nBurn this.');
    await check(page, 'send-note');
    expect(watched.faults).toEqual([]);
  });

  test('receiving a file, several files, and one behind a password', async () => {
    const one = await client.uploadFiles([source('quarterly report.pdf', 2_340_000)], stay);
    const several = await client.uploadFiles(
      [source('photos/one.jpg', 50_000), source('photos/two.jpg', 70_000)],
      stay,
    );
    const locked = await client.uploadFiles([source('a.txt', 50)], { ...stay, password: 'right' });
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(one.link);
    await page.getByText('quarterly report.pdf').waitFor();
    await check(page, 'receive-file');
    await page.goto(several.link);
    await page.getByText('two.jpg').waitFor();
    await check(page, 'receive-files');
    await page.goto(locked.link);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByRole('alert').waitFor();
    await check(page, 'receive-locked');
    expect(watched.faults).toEqual([]);
  });

  test('reading a note', async () => {
    const { link } = await client.createNote('The door code is 4711.\nBurn this.', { expireSec: 3600, maxViews: 1 });
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).waitFor();
    await check(page, 'note');
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('The door code').waitFor();
    await check(page, 'note-read');
    expect(watched.faults).toEqual([]);
  });

  test('links that open nothing, the page of own uploads, and another language', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(`${service.baseUrl}/d/00000000-0000-4000-8000-000000000000#${'A'.repeat(43)}`);
    await page.getByRole('alert').waitFor();
    await check(page, 'problem');
    await page.goto(`${service.baseUrl}/d/00000000-0000-4000-8000-000000000000`);
    await page.getByLabel('Key').waitFor();
    await check(page, 'missing-key');
    await page.goto(`${service.baseUrl}/uploads`);
    await page.getByRole('heading', { name: 'My uploads' }).waitFor();
    await check(page, 'uploads');
    await page.getByLabel('Language').selectOption({ label: 'Deutsch' });
    await page.getByRole('heading', { name: 'Meine Sendungen' }).waitFor();
    await page.goto(service.baseUrl);
    await page.getByText('Vergeht nach').waitFor();
    await check(page, 'send-german');
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
    expect(watched.faults).toEqual([]);
  });

  test('from right to left', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.getByLabel('Gone after').waitFor();
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl';
    });
    await chooseFiles(page, [file('letter.pdf', 180_000), file('notes.txt', 2_000)]);
    await check(page, 'send-right-to-left');
    expect(watched.faults).toEqual([]);
  });

  test('sending with nothing but a keyboard', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.getByLabel('Gone after').waitFor();
    const names: string[] = [];
    for (let steps = 0; steps < 30 && !names.includes('Encrypt and make a link'); steps += 1) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate(() => {
        const { activeElement } = document;
        const label = (activeElement as HTMLInputElement | null)?.labels?.[0];
        return (label ?? activeElement)?.textContent?.trim().replace(/\s+/g, ' ') ?? '';
      });
      names.push(name);
      if (name === 'Files') await page.keyboard.press('ArrowRight');
      if (
        name === 'The note' ||
        (names.includes('Note') && (await page.evaluate(() => document.activeElement?.tagName)) === 'TEXTAREA')
      ) {
        await page.keyboard.type('by keyboard');
      }
    }
    await page.keyboard.press('Enter');
    const link = await shownLink(page);
    // The new step has the focus, so that it is read aloud.
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    expect((await client.viewNote(link)).text).toBe('by keyboard');
    expect(watched.faults).toEqual([]);
  });
});
