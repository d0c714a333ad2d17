import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningShape } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { startWebService } from './web-service.ts';

describe.skipIf(!CHROMIUM)('links that open nothing (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let client: MayflyClient;
  beforeAll(async () => {
    const settings = { TOKEN_FAILURES_MAX: '2', TOMBSTONE_TTL_SEC: '3600' };
    [service, browser] = await Promise.all([startWebService('all', settings), startBrowser()]);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  const file = () => [new File(['content'], 'a.txt')];
  const stay = { expireSec: 3600, maxDownloads: 1 };
  const noteStay = { expireSec: 3600, maxViews: 1 };
  const otherKey = (link: string) => `${link.split('#')[0]}#${'B'.repeat(42)}A`;

  const LINKS: { what: string; problem: string; sentence: RegExp; make: () => Promise<string> }[] = [
    {
      what: 'an upload that never was',
      problem: 'not-found',
      sentence: /leads to nothing/,
      make: async () => `${service.baseUrl}/d/00000000-0000-4000-8000-000000000000#${'A'.repeat(43)}`,
    },
    {
      what: 'a note that never was',
      problem: 'not-found',
      sentence: /leads to nothing/,
      make: async () => `${service.baseUrl}/n/00000000-0000-4000-8000-000000000000#${'A'.repeat(43)}`,
    },
    {
      what: 'an upload whose time is over',
      problem: 'expired',
      sentence: /time that its sender allowed is over/,
      make: async () => {
        const { link } = await client.uploadFiles(file(), { expireSec: 1, maxDownloads: 1 });
        await expect.poll(() => client.getInfo(link).catch(({ code }) => code), { timeout: 30_000 }).toBe('expired');
        return link;
      },
    },
    {
      what: 'a note whose time is over',
      problem: 'expired',
      sentence: /time that its sender allowed is over/,
      make: async () => {
        const { link } = await client.createNote('text', { expireSec: 1, maxViews: 1 });
        await expect.poll(() => client.getNote(link).catch(({ code }) => code), { timeout: 30_000 }).toBe('expired');
        return link;
      },
    },
    {
      what: 'an upload that was downloaded as often as it may',
      problem: 'used-up',
      sentence: /as often as its sender allowed/,
      make: async () => {
        const { link } = await client.uploadFiles(file(), stay);
        await new Response((await client.download(link)).payload).arrayBuffer();
        return link;
      },
    },
    {
      what: 'a note that was read as often as it may',
      problem: 'used-up',
      sentence: /as often as its sender allowed/,
      make: async () => {
        const { link } = await client.createNote('text', noteStay);
        await client.viewNote(link);
        return link;
      },
    },
    {
      what: 'an upload with the key of another',
      problem: 'tampered',
      sentence: /the key does not fit/,
      make: async () => otherKey((await client.uploadFiles(file(), stay)).link),
    },
    {
      what: 'an upload with half a key',
      problem: 'invalid-link',
      sentence: /A part of the link is missing/,
      make: async () => (await client.uploadFiles(file(), stay)).link.slice(0, -20),
    },
    {
      what: 'something that is no id',
      problem: 'invalid-link',
      sentence: /A part of the link is missing/,
      make: async () => `${service.baseUrl}/d/1234#${'A'.repeat(43)}`,
    },
  ];

  test.each(LINKS)('$what is said in one sentence', async ({ problem, sentence, make }) => {
    const link = await make();
    await using watched = await openPage(browser);
    await watched.page.goto(link);
    const found = watched.page.locator(`[data-problem=${problem}]`);
    await found.waitFor();
    expect(await found.textContent()).toMatch(sentence);
    expect(watched.faults).toEqual([]);
  });

  test('a note with the key of another stays unread', async () => {
    const created = await client.createNote('text', noteStay);
    await using watched = await openPage(browser);
    await watched.page.goto(otherKey(created.link));
    await watched.page.getByRole('button', { name: 'Read the note' }).click();
    await watched.page.locator('[data-problem=wrong-token]').waitFor();
    expect((await client.getUsage(created)).usedCount).toBe(0);
    expect(watched.faults).toEqual([]);
  });

  test('too many wrong passwords lock this visitor out for a while, and nothing is used up', async () => {
    const created = await client.createNote('text', { ...noteStay, password: 'right' });
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(created.link);
    for (const guess of ['one', 'two']) {
      await page.getByLabel('Password').fill(guess);
      await page.getByRole('button', { name: 'Unlock' }).click();
      await page.getByText('That is not the password').waitFor();
    }
    await page.getByLabel('Password').fill('right');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByText(/Too many wrong tries from here. Try again in \d+ minutes/).waitFor();
    expect((await client.getUsage(created)).usedCount).toBe(0);
    expect(watched.faults).toEqual([]);
  });

  test('a page that came without HTTPS says that it cannot encrypt', async () => {
    await using watched = await openPage(browser, {}, (context) =>
      context.addInitScript(() => Object.defineProperty(globalThis, 'isSecureContext', { get: () => false })),
    );
    await watched.page.goto(service.baseUrl);
    await watched.page.locator('[data-problem=insecure-context]').waitFor();
    expect(watched.faults).toEqual([]);
  });

  test('an upload that is being finished is not called broken', async () => {
    const { link } = await client.uploadFiles(file(), stay);
    await using watched = await openPage(browser);
    await watched.page.route('**/api/info/*', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), encryptedMeta: null, nonce: null } });
    });
    await watched.page.goto(link);
    await watched.page.locator('[data-problem=not-finished]').waitFor();
    expect(watched.faults).toEqual([]);
  });
});
