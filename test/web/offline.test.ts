import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { PROMISE, sendFiles } from './sending.ts';

describeWeb('a service that cannot be reached', { shapes: ['all'] }, (web) => {
  /** A page that has been open until the browser knows what to show without the service. */
  async function visit(page: Page, address: string) {
    await page.goto(address);
    await page.evaluate(async () => {
      await navigator.serviceWorker.ready;
    });
  }

  const offline = (page: Page) => page.getByRole('heading', { name: 'No connection' });

  test('is told by a page, which opens the link with its key as soon as there is an answer', async () => {
    const { link } = await web.client.createNote('the text', { expireSec: 3600, maxViews: 2 });
    await using proxy = await openTamperingProxy(web.baseUrl);
    await using page = await web.open();
    await visit(page, proxy.url);
    proxy.cut();
    const address = link.replace(web.baseUrl, proxy.url);
    const answer = await page.goto(address);
    expect(answer?.status()).toBe(503);
    expect(answer?.headers()['cache-control']).toBe('no-store');
    await offline(page).waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await offline(page).waitFor();
    expect(await problemsOfLooks(page, 'offline')).toEqual([]);
    proxy.mend();
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('the text').waitFor();
    expect(page.url()).toBe(address);
  });

  test('is told in the language that was chosen, by the name of the service', async () => {
    await using page = await web.open({ locale: 'fr-CA' });
    const context = page.context();
    await page.route('**/brand.json', (route) => route.fulfill({ json: { name: 'Files & Co' } }));
    await visit(page, web.baseUrl);
    await context.setOffline(true);
    await page.goto(`${web.baseUrl}/uploads`);
    await page.getByRole('heading', { name: 'Pas de connexion' }).waitFor();
    expect(await page.title()).toBe('Pas de connexion · Files & Co');
    await context.setOffline(false);
    await page.locator('footer select').selectOption('ar');
    await page.locator('html[lang=ar]').waitFor();
    await context.setOffline(true);
    await page.reload();
    const heading = page.getByRole('heading', { name: 'لا يوجد اتصال' });
    expect(await heading.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    expect(await problemsOfLooks(page, 'offline-right-to-left')).toEqual([]);
    await context.setOffline(false);
    await page.locator('html[lang=ar] footer').waitFor();
  });

  test('an answer of any kind is shown as it came, and nothing of a page is kept', async () => {
    await using page = await web.open();
    await visit(page, web.baseUrl);
    expect((await page.goto(`${web.baseUrl}/nonsense`))?.status()).toBe(404);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.goto(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    expect(await page.evaluate(() => caches.keys())).toEqual([]);
  });

  test('what a page is made of goes past the worker that does this', async () => {
    await using page = await web.open();
    await visit(page, web.baseUrl);
    await page.goto(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    const sources = await page.evaluate(() => {
      type Entry = PerformanceResourceTiming & { workerFinalSourceType: string };
      const entries = performance.getEntriesByType('resource') as Entry[];
      const ours = entries.filter(({ name }) => /assets\/first-page-|brand\.json$/.test(name));
      return ours.map(({ workerStart, workerFinalSourceType }) =>
        workerStart > 0 ? workerFinalSourceType : 'no worker',
      );
    });
    expect(sources).toEqual(['network', 'network', 'network']); // a script, a style sheet, the brand
  });

  test('what a page sends goes past it, too', async () => {
    await using page = await web.open();
    await visit(page, web.baseUrl);
    await sendFiles(page, web.baseUrl, [{ name: 'a.bin', buffer: Buffer.alloc(1_000_000) }]);
    const [worker] = page.workers();
    const requests = await worker?.evaluate(() => {
      const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
      return entries.map(({ name, workerStart }) => ({ path: new URL(name).pathname, workerStart }));
    });
    expect(requests).toContainEqual({ path: expect.stringMatching(/^\/api\/(upload|parts)/), workerStart: 0 });
    expect(requests?.filter(({ workerStart }) => workerStart > 0)).toEqual([]);
  });
});
