import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { sendFiles, sendNote } from './sending.ts';

const SETTINGS = { WORK: 'adaptive', WORK_EXTRA: '30', RATE_LIMIT_MAX: '2', RATE_LIMIT_WINDOW_SEC: '3600' };
const SAID = 'The service is busy with requests from your network. Working to be let in …';

/** Whether the page has said it, however briefly. */
const hasSaid = (page: Page) => page.evaluate(() => (globalThis as { hasSaid?: boolean }).hasSaid === true);

describeWeb('a page over its request limit', { shapes: ['all'], settings: SETTINGS }, (web) => {
  const open = () =>
    web.open({}, async (context) => {
      await noPicker(context);
      await context.addInitScript((text) => {
        const look = () => {
          const said = document.querySelector('[data-working]')?.textContent === text;
          if (said) Object.assign(globalThis, { hasSaid: true });
        };
        new MutationObserver(look).observe(document, { subtree: true, childList: true });
      }, SAID);
    });

  test('works for a place, says so, and finishes by itself: a file, a note, and what is opened', async () => {
    while ((await fetch(`${web.baseUrl}/api/config`)).status !== 429);
    await using page = await open();
    const content = randomBytes(300_000);
    const link = await sendFiles(page, web.baseUrl, [{ name: 'a.bin', buffer: content }]);
    expect(await hasSaid(page)).toBe(true);
    expect(await page.locator('[data-working]').count()).toBe(0); // no longer
    const note = await sendNote(page, web.baseUrl, 'still here');

    await page.goto(note);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('still here').waitFor();
    await page.goto(link);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    const chunks = await (await saving).createReadStream().then((stream) => stream.toArray());
    expect(Buffer.concat(chunks as Buffer[]).equals(content)).toBe(true);
    expect(page.sent.filter((text) => text.includes('"x-work"')).length).toBeGreaterThan(3);
    expect((await fetch(`${web.baseUrl}/api/config`)).status).toBe(429); // nothing has become free
  });

  test('what it says can be read by everybody', async () => {
    await using page = await open();
    const context = page.context();
    const { promise: isHeld, resolve: goOn } = Promise.withResolvers<void>();
    await context.route('**/api/work', async (route) => {
      await isHeld;
      await route.continue();
    });
    await page.goto(web.baseUrl);
    await page.getByText(SAID).waitFor();
    expect(await problemsOfLooks(page, 'busy')).toEqual([]);
    goOn();
    await page.getByText(SAID).waitFor({ state: 'detached' });
  });
});
