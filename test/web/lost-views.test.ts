import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningShape } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { startWebService } from './web-service.ts';

const VIEW = '**/api/note/*/view';

describe.skipIf(!CHROMIUM)('a note whose answer is lost (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let client: MayflyClient;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService('split'), startBrowser()]);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  test('is read by the next try of the page, and counts one view', async () => {
    const note = await client.createNote('here after all', { expireSec: 3600, maxViews: 2 });
    await using watched = await openPage(browser);
    const { page } = watched;
    let tries = 0;
    await page.route(VIEW, async (route) => {
      tries += 1;
      if (tries > 1) return route.continue();
      await route.fetch();
      await route.abort(); // it was counted, and nobody told
    });
    await page.goto(note.link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('The answer did not arrive. Trying again').waitFor();
    await page.getByText('here after all').waitFor();
    expect(tries).toBe(2);
    expect((await client.getUsage(note)).usedCount).toBe(1);
    expect(watched.faults).toEqual([]);
  });

  test('can be tried again by its reader, when no view is left any more', { timeout: 120_000 }, async () => {
    const { link } = await client.createNote('here after all', { expireSec: 3600, maxViews: 1 });
    await using watched = await openPage(browser);
    const { page } = watched;
    let isAway = true;
    await page.route(VIEW, async (route) => {
      if (!isAway) return route.continue();
      await route.fetch();
      // So long that the page does not wait for it.
      await route.fulfill({ status: 503, headers: { 'retry-after': '60' }, json: { error: 'Service unavailable' } });
    });
    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    const problem = page.locator('[data-problem=unconfirmed]');
    await problem.getByText('Whether the view was used is not known.').waitFor();
    // Once more in vain: now the page knows for how long.
    await page.getByRole('button', { name: 'Try again' }).click();
    await problem.getByText(/You can try again for about \d+ (minutes?|seconds)/).waitFor();
    isAway = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('here after all').waitFor();
    expect(watched.faults).toEqual([]);
  });
});
