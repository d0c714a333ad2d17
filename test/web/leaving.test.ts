import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { chooseFiles, protect, shownLink } from './sending.ts';

const speakGerman = (page: Page) => page.getByLabel('Language').selectOption({ label: 'Deutsch' });

/** Reloads, and says whether the browser asked before; the answer is to stay. */
async function isAskedBeforeReload(page: Page): Promise<boolean> {
  const asked = page.waitForEvent('dialog').then(async (dialog) => {
    await dialog.dismiss();
    return dialog.type();
  });
  // A reload that is refused never ends: it is asked for in the page, and nobody waits for it.
  await page.evaluate(() => setTimeout(() => location.reload()));
  return (await asked) === 'beforeunload';
}

describeWeb('what is on a page and nowhere else', { shapes: ['all'] }, (web) => {
  test('a note that was opened for the last time outlives another language, and leaving asks first', async () => {
    const { link } = await web.client.createNote('only once', { expireSec: 3600, maxViews: 1 });
    await using page = await web.visit(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('only once').waitFor();
    await speakGerman(page);
    await page.getByRole('link', { name: 'Sendungen' }).waitFor();
    expect(await page.getByText('only once').isVisible()).toBe(true);
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
    expect(await isAskedBeforeReload(page)).toBe(true);
    expect(await page.getByText('only once').isVisible()).toBe(true);
  });

  test('a note that is being written and files that were chosen, too', async () => {
    await using page = await web.visit(web.baseUrl);
    await chooseFiles(page, [{ name: 'plan.txt', buffer: Buffer.from('x') }]);
    await page.getByText('Note', { exact: true }).click();
    await page.getByLabel('The note').fill('half a sentence');
    await speakGerman(page);
    await page.getByText('Dateien', { exact: true }).waitFor();
    expect(await page.getByRole('textbox').first().inputValue()).toBe('half a sentence');
    await page.getByText('Dateien', { exact: true }).click();
    await page.getByText('plan.txt').waitFor();
    expect(await isAskedBeforeReload(page)).toBe(true);
  });

  test('the password of what was sent can be copied beside the link, and is gone with the page', async () => {
    await using page = await web.visit(web.baseUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
    await chooseFiles(page, [{ name: 'plan.txt', buffer: Buffer.from('x') }]);
    await protect(page, 'correct horse');
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await shownLink(page);
    expect(await page.getByLabel('Password', { exact: true }).getAttribute('type')).toBe('password');
    await page.getByRole('button', { name: 'Copy password' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('correct horse');
    await page.reload();
    await page.getByText('Drop files or folders here').waitFor();
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
    expect(kept.includes('correct horse')).toBe(false);
  });

  test('the tab says how far sending is, and says its name again afterwards', async () => {
    await using page = await web.open();
    const { promise: held, resolve: proceed } = Promise.withResolvers<void>();
    await page.route('**/api/meta/**', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(web.baseUrl);
    await chooseFiles(page, [{ name: 'plan.txt', buffer: Buffer.alloc(100_000) }]);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.waitForFunction(() => /^\d+% · Mayfly$/.test(document.title));
    expect(await page.getByText('plan.txt').isVisible()).toBe(true);
    const icon = page.locator('link[rel=icon]');
    expect(await icon.getAttribute('href')).toMatch(/^data:image\/svg\+xml,/);
    proceed();
    await shownLink(page);
    await page.waitForFunction(() => /^Mayfly · /.test(document.title));
    expect(await icon.getAttribute('href')).toBe('/icon.svg');
  });

  test('a name cannot turn its ending round', async () => {
    const { link } = await web.client.uploadFiles([new File(['x'], 'evil\u202egnp.exe')], {
      expireSec: 3600,
      maxDownloads: 1,
    });
    await using page = await web.visit(link);
    await page.getByText('evil□gnp.exe').waitFor();
  });

  test('a page whose scripts do not come says so after a while', async () => {
    await using page = await web.open({ javaScriptEnabled: true }, (context) =>
      context.route('**/assets/*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' })),
    );
    page.faults.length = 0;
    await page.goto(web.baseUrl);
    await page.getByText('Mayfly has not started.').waitFor({ state: 'visible' });
    page.faults.length = 0; // what was replaced does not have the hash that was published
  });
});
