import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askForFiles, dropFiles, openList } from './asking.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks, tooWide } from './looks.ts';
import { chooseFiles, PROMISE, protect, shownLink } from './sending.ts';

const file = (name: string, size: number) => ({ name, buffer: Buffer.alloc(size, name) });

describeWeb('every page, in light and dark, wide and narrow', { shapes: ['all'] }, (web) => {
  /** No violation of accessibility rules, nothing wider than the screen, in German neither: its words are longer. */
  async function check(page: Page, name: string) {
    const found = await problemsOfLooks(page, name);
    if ((await page.locator('html').getAttribute('lang')) !== 'de') {
      await speak(page, 'de');
      found.push(...(await tooWide(page, `${name}-german-phone`)));
      await speak(page, 'en');
    }
    expect(found).toEqual([]);
  }

  async function speak(page: Page, language: string) {
    await page.locator('footer select').selectOption(language);
    await page.locator(`html[lang=${language}]`).waitFor();
  }

  const shared = web.sharePage();

  const stay = { expireSec: 3600, maxDownloads: 3 };
  const source = (name: string, size: number) => new File([Buffer.alloc(size, 1)], name);

  test('sending files, from the first page to the link', async () => {
    await using page = await web.visit(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    await check(page, 'send');
    await chooseFiles(page, [
      file('holiday/beach at dusk.jpg', 5_400_000),
      file('letter.pdf', 180_000),
      file('notes.txt', 2_000),
    ]);
    await check(page, 'send-chosen');
    await protect(page, 'correct horse');
    await check(page, 'send-password');
    const { promise: held, resolve: proceed } = Promise.withResolvers<void>();
    await page.route('**/api/upload', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.getByRole('heading', { name: /Encrypting|Sending/ }).waitFor();
    await check(page, 'send-busy');
    proceed();
    await shownLink(page);
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await page.getByText('beach at dusk.jpg').waitFor();
    await page.getByText('Link and key separately').click();
    await check(page, 'send-done');
  });

  test('asking for files, from the form to what has arrived', async () => {
    await using page = await web.visit(`${web.baseUrl}/request`);
    await page.getByLabel('Number of deliveries').waitFor();
    await check(page, 'ask');
    const { dropLink, keepLink } = await askForFiles(page, web.baseUrl, 'Your tax papers', { text: 'All of 2025.' });
    await check(page, 'ask-done');
    await page.goto(keepLink);
    await page.getByText('Nothing has arrived yet.').waitFor();
    await check(page, 'collect-empty');
    await page.goto('about:blank');
    await page.goto(dropLink);
    await page.getByRole('heading', { name: 'Your tax papers' }).waitFor();
    await check(page, 'request');
    await dropFiles(page, [file('payslip.pdf', 180_000), file('rent.txt', 2_000)]);
    await check(page, 'request-sent');
    await page.goto('about:blank');
    await page.goto(keepLink);
    await page.getByText('One delivery has arrived').waitFor();
    await check(page, 'collect');
    await openList(page, web.baseUrl);
    await page.getByText('9 of 10').waitFor();
    await check(page, 'uploads-request');
  });

  test('sending a note', async () => {
    const page = shared();
    await page.goto(web.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.getByLabel('The note').fill('The door code is 4711.\nBurn this.');
    await check(page, 'send-note');
  });

  test('receiving a file, several files, and one behind a password', async () => {
    const one = await web.client.uploadFiles([source('quarterly report.pdf', 2_340_000)], stay);
    const several = await web.client.uploadFiles(
      [source('photos/one.jpg', 50_000), source('photos/two.jpg', 70_000)],
      stay,
    );
    const locked = await web.client.uploadFiles([source('a.txt', 50)], { ...stay, password: 'right' });
    const page = shared();
    await page.goto(one.link);
    await page.getByRole('heading', { name: 'quarterly report.pdf' }).waitFor();
    await page.getByText('End-to-end encrypted').waitFor();
    await check(page, 'receive-file');
    await page.goto(several.link);
    await page.getByText('two.jpg').waitFor();
    await check(page, 'receive-files');
    await page.goto(locked.link);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByRole('alert').waitFor();
    await check(page, 'receive-locked');
  });

  test('reading a note', async () => {
    const { link } = await web.client.createNote('The door code is 4711.\nBurn this.', {
      expireSec: 3600,
      maxViews: 1,
    });
    const page = shared();
    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).waitFor();
    await check(page, 'note');
    await page.getByRole('button', { name: 'Read the note' }).click();
    const lastView = await page.getByText('This was the last view').boundingBox();
    const text = await page.getByText('The door code').boundingBox();
    expect(lastView?.y).toBeLessThan(text?.y ?? 0);
    await check(page, 'note-read');
  });

  test('links that open nothing, the page of own uploads, and another language', async () => {
    await using page = await web.visit(`${web.baseUrl}/d/00000000-0000-4000-8000-000000000000#${'A'.repeat(43)}`);
    await page.getByRole('alert').waitFor();
    await check(page, 'problem');
    await page.goto(`${web.baseUrl}/d/00000000-0000-4000-8000-000000000000`);
    await page.getByLabel('Key').waitFor();
    await check(page, 'missing-key');
    await page.goto(`${web.baseUrl}/uploads`);
    await page.getByRole('heading', { name: 'My uploads' }).waitFor();
    await check(page, 'uploads');
    await page.getByLabel('Language').selectOption({ label: 'Deutsch' });
    await page.getByRole('heading', { name: 'Meine Sendungen' }).waitFor();
    await page.goto(web.baseUrl);
    await chooseFiles(page, [file('Urlaub/Strand.jpg', 5_400_000)]);
    await page.getByLabel('Link schon weitergeben, während noch gesendet wird').waitFor();
    await check(page, 'send-german');
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
  });

  test('signing in where nobody has to', async () => {
    const page = shared();
    await page.goto(`${web.baseUrl}/signin`);
    await page.locator('[data-problem=missing-page]').waitFor();
    await check(page, 'no-signin');
  });

  test('an address that leads nowhere', async () => {
    const page = shared();
    const answer = await page.goto(`${web.baseUrl}/nonsense`);
    expect(answer?.status()).toBe(404);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await check(page, 'missing-page');
    await page.getByText(/^Mayfly \d/).click();
    await page.getByText(/^This page says that it is release [0-9a-f]{12}\.$/).waitFor();
    await page.getByText(`mayfly verify ${web.baseUrl}`).waitFor();
    await check(page, 'release');
    await page.getByRole('link', { name: 'Send files or a note' }).click();
    await page.getByRole('heading', { name: PROMISE }).waitFor();
  });

  test('from right to left', async () => {
    const page = shared();
    await page.goto(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl';
    });
    await chooseFiles(page, [file('letter.pdf', 180_000), file('notes.txt', 2_000)]);
    await check(page, 'send-right-to-left');
  });

  test('sending with nothing but a keyboard', async () => {
    const page = shared();
    await page.goto(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
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
    expect((await web.client.viewNote(link)).text).toBe('by keyboard');
  });
});
