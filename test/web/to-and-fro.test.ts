import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { hurried } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { chooseFiles, PROMISE, sendFiles, shownLink } from './sending.ts';

const file = (name: string) => ({ name, buffer: Buffer.from(name) });

describeWeb('to and fro between the form, the link and the list', { shapes: ['all'] }, (web) => {
  const form = (page: Page) => page.getByRole('heading', { name: PROMISE });
  const link = (page: Page) => page.getByRole('heading', { name: 'Here is your link' });
  const toList = (page: Page) => page.getByRole('link', { name: 'My uploads' }).click();
  const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

  /** What a program of the desktop does, at a place where nothing else takes it. */
  const drop = (page: Page, name: string) =>
    page.evaluate((name) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([name], name, { lastModified: 1 }));
      return document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    }, name);

  test('Back leads from the link to the form, Forward to the link, and neither address nor history has its key', async () => {
    await using page = await web.open();
    const sent = await sendFiles(page, web.baseUrl, [file('plan.txt')]);
    await page.goBack();
    await form(page).waitFor();
    await page.goForward();
    expect(await shownLink(page)).toBe(sent);
    const traces = await page.evaluate(() => location.href + JSON.stringify(history.state));
    expect(traces.includes(sent.split('#')[1] ?? '')).toBe(false);
    await page.getByRole('button', { name: 'Send something else' }).click();
    await form(page).waitFor();
    await page.goBack();
    expect(await shownLink(page)).toBe(sent);

    // Every button that goes leaves the focus with what takes its place.
    await page.getByRole('button', { name: 'Delete it now' }).press('Enter');
    expect(await focusedText(page)).toBe('Keep');
    await page.keyboard.press('Enter');
    await expect.poll(() => focusedText(page)).toBe('Delete it now');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Yes, delete' }).press('Enter');
    await page.getByText('Deleted. The link no longer opens anything.').waitFor();
    expect(await focusedText(page)).toBe('Here is your link');
    await page.goForward();
    await form(page).waitFor();
    await page.goBack();
    await page.getByText('Deleted. The link no longer opens anything.').waitFor();
  });

  test('an entry of a link that was sent before a reload does not show what was sent afterwards', async () => {
    await using page = await web.open();
    await sendFiles(page, web.baseUrl, [file('before.txt')]);
    await page.getByRole('button', { name: 'Send something else' }).click();
    await page.reload();
    await form(page).waitFor();
    await chooseFiles(page, [file('after.txt')]);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    const sent = await shownLink(page);
    await page.evaluate(() => history.go(-2));
    await form(page).waitFor();
    await page.evaluate(() => history.go(2));
    expect(await shownLink(page)).toBe(sent);
  });

  test('the last choices are there the next time, and the password is not', async () => {
    await using page = await web.open();
    const choices = { downloads: '3 downloads', expires: '1 hour', password: 'correct horse' };
    await sendFiles(page, web.baseUrl, [file('plan.txt')], choices);
    await page.goto(web.baseUrl);
    const chosen = (label: string) => page.getByLabel(label).locator('option:checked').textContent();
    await chooseFiles(page, [file('another.txt')]);
    expect([await chosen('Expires after'), await chosen('Downloads')]).toEqual(['1 hour', '3 downloads']);
    expect(await page.getByLabel('Password', { exact: true }).count()).toBe(0);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }).includes('correct horse'))).toBe(false);
    await page.getByText('Note', { exact: true }).click();
    expect([await chosen('Expires after'), await chosen('Views')]).toEqual(['1 day', '1 view']);
  });

  test('what is dropped on the list, or beside a note, is on the form for files, and once', async () => {
    await using page = await web.visit(`${web.baseUrl}/uploads`);
    await page.getByRole('heading', { name: 'My uploads' }).waitFor();
    expect(await drop(page, 'dropped.txt')).toBe(false); // the browser does not open it
    await page.getByRole('button', { name: 'Remove dropped.txt' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
    await page.getByText('Note', { exact: true }).click();
    await drop(page, 'dropped.txt');
    await page.getByText('Already chosen: dropped.txt').waitFor();
    expect(await page.getByRole('button', { name: 'Remove dropped.txt' }).count()).toBe(1);
    await page.getByRole('button', { name: 'Remove dropped.txt' }).press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-pick'))).toBe('files');
  });

  test('what is under way is on the list, nothing is added to it, and other tabs follow', async () => {
    // The list asks again every half minute: what comes sooner was told.
    await using page = await web.open({}, (context) => context.addInitScript(hurried(30_000, 3_600_000)));
    const context = page.context();
    const other = await context.newPage();
    await other.goto(`${web.baseUrl}/uploads`);
    await other.locator('[data-empty]').waitFor();
    const { promise: held, resolve: proceed } = Promise.withResolvers<void>();
    await page.route('**/api/meta/**', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(web.baseUrl);
    await chooseFiles(page, [file('plan.txt')]);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await toList(page);
    await page
      .locator('[data-under-way]')
      .getByText(/Sending, \d+%/)
      .waitFor();
    await page.locator('[data-under-way]').getByText('plan.txt').waitFor();
    await drop(page, 'another.txt');
    await page.locator('[data-refused]').waitFor();
    await toList(page);
    await page.locator('[data-under-way]').getByRole('link', { name: 'Show' }).click();
    await page.getByRole('heading', { name: 'Sending' }).waitFor();
    proceed();
    await link(page).waitFor();
    const entry = (where: Page) => where.getByRole('listitem', { name: 'plan.txt' });
    await entry(other).waitFor();
    await toList(page);
    await entry(page).waitFor();
    await entry(other).getByRole('button', { name: 'Delete' }).click();
    await other.getByRole('button', { name: 'Delete now' }).click();
    await entry(page).waitFor({ state: 'detached' });
  });
});
