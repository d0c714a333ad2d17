import { readFile } from 'node:fs/promises';
import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningShape } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { openTamperingProxy, type TamperingProxy } from './tampering-proxy.ts';
import { startWebService } from './web-service.ts';

type Way = {
  name: string;
  prepare: (context: BrowserContext) => Promise<unknown>;
  /** Clicks, and returns what was saved in the end, or undefined when nothing may have been. */
  save: (page: Page) => Promise<Buffer | undefined>;
};

const click = (page: Page) => page.getByRole('button', { name: 'Download', exact: true }).click();
const isSaved = (page: Page) =>
  Promise.race([
    page
      .getByRole('heading', { name: 'Saved, whole and unchanged' })
      .waitFor()
      .then(() => true),
    page
      .getByRole('heading', { name: 'The download failed' })
      .waitFor()
      .then(() => false),
  ]);

/** The browser's dialog cannot be clicked from here. What it would give is a handle like this one, of a real file. */
function pickOpfsFile() {
  Reflect.set(globalThis, 'showSaveFilePicker', async () => {
    const folder = await navigator.storage.getDirectory();
    return folder.getFileHandle('picked', { create: true });
  });
}

async function readPicked(page: Page): Promise<Buffer | undefined> {
  const bytes = await page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    const names = await Array.fromAsync(folder.keys());
    if (!names.includes('picked')) return undefined;
    const file = await (await folder.getFileHandle('picked')).getFile();
    return new Uint8Array(await file.arrayBuffer()).toBase64();
  });
  return bytes === undefined ? undefined : Buffer.from(bytes, 'base64');
}

async function fromList(page: Page): Promise<Buffer | undefined> {
  const downloads: Promise<Buffer | undefined>[] = [];
  page.on('download', (download) =>
    downloads.push(download.failure().then(async (failure) => (failure ? undefined : readFile(await download.path())))),
  );
  await click(page);
  const saved = await isSaved(page);
  if (saved && downloads.length === 0) await page.waitForEvent('download'); // the page is told before the list is
  const [found, ...others] = await Promise.all(downloads);
  expect(others).toEqual([]);
  return found;
}

const WAYS: Way[] = [
  {
    name: 'a file that the person picks',
    prepare: (context) => context.addInitScript(pickOpfsFile),
    async save(page) {
      await click(page);
      await isSaved(page);
      return readPicked(page);
    },
  },
  {
    name: 'a download through the service worker',
    prepare: (context) => context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker')),
    save: fromList,
  },
  {
    name: "the browser's own storage",
    prepare: (context) =>
      context.addInitScript(() => {
        Reflect.deleteProperty(globalThis, 'showSaveFilePicker');
        Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: () => undefined });
      }),
    save: fromList,
  },
];

const CONTENT = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, index) => (index * 31) % 253));

describe.skipIf(!CHROMIUM)('saving a download (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let proxy: TamperingProxy;
  let client: MayflyClient;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService('all'), startBrowser()]);
    proxy = await openTamperingProxy(service.baseUrl);
    client = new MayflyClient({ baseUrl: proxy.url, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await proxy?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
  });

  async function upload(): Promise<string> {
    const options = { expireSec: 3600, maxDownloads: 10 };
    return (await client.uploadFiles([new File([CONTENT], 'data.bin')], options)).link;
  }

  describe.each(WAYS)('as $name', ({ prepare, save }) => {
    test('what was sent arrives', async () => {
      proxy.tampering = { kind: 'none' };
      await using watched = await openPage(browser, {}, prepare);
      await watched.page.goto(await upload());
      expect((await save(watched.page))?.equals(CONTENT)).toBe(true);
      expect(watched.faults).toEqual([]);
    });

    test.each([
      { what: 'changed in the middle', problem: 'tampered', tampering: { kind: 'flip', at: 1_500_000 } },
      { what: 'changed in its last byte', problem: 'tampered', tampering: { kind: 'flip', at: -1 } },
      { what: 'cut short by a broken connection', problem: 'network', tampering: { kind: 'cut', at: 2_000_000 } },
      {
        what: 'cut short at the end of a segment',
        problem: 'tampered',
        tampering: { kind: 'shorten', to: 8 + 20 * 65_552 },
      },
    ] as const)('a payload that was $what is an error and never a file', async ({ problem, tampering }) => {
      await using watched = await openPage(browser, {}, prepare);
      const { page } = watched;
      const link = await upload();
      const { size } = await client.getInfo(link);
      proxy.tampering = tampering.kind === 'flip' && tampering.at < 0 ? { kind: 'flip', at: size - 1 } : tampering;
      await page.goto(link);
      expect(await save(page)).toBeUndefined();
      await page.locator(`[data-problem=${problem}]`).waitFor();
      // It can be tried again, and then it is whole.
      proxy.tampering = { kind: 'none' };
      expect((await save(page))?.equals(CONTENT)).toBe(true);
    });
  });

  test('a browser without storage of its own keeps the file in memory, and says what it needs', async () => {
    proxy.tampering = { kind: 'none' };
    await using watched = await openPage(browser, {}, async (context) => {
      await WAYS[2]?.prepare(context);
      await context.route('**/assets/worker-*.js', async (route) => {
        const answer = await route.fetch();
        const noStorage =
          "Object.defineProperty(StorageManager.prototype,'getDirectory',{value:()=>{throw new Error('off')}});";
        await route.fulfill({ response: answer, body: noStorage + (await answer.text()) });
      });
    });
    await watched.page.goto(await upload());
    await watched.page.getByText('This browser keeps the whole file in its own storage').waitFor();
    expect((await fromList(watched.page))?.equals(CONTENT)).toBe(true);
    expect(watched.faults).toEqual([]);
  });

  test('a browser whose storage is full says so, and hands out nothing', async () => {
    proxy.tampering = { kind: 'none' };
    await using watched = await openPage(browser, {}, WAYS[2]?.prepare);
    const { page, context } = watched;
    const session = await context.newCDPSession(page);
    await page.goto(await upload());
    await session.send('Storage.overrideQuotaForOrigin', { origin: proxy.url, quotaSize: 1_500_000 });
    expect(await fromList(page)).toBeUndefined();
    await page.locator('[data-problem=no-room]').waitFor();
    expect(watched.faults).toEqual([]);
  });

  test('a stopped download leaves no file', async () => {
    proxy.tampering = { kind: 'none' };
    await using watched = await openPage(browser, {}, WAYS[0]?.prepare);
    const { page } = watched;
    const link = await upload();
    await page.goto(link);
    let proceed = () => {};
    await page.route('**/api/download/*', async (route) => {
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
      await route.abort();
    });
    await click(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Nothing was saved').waitFor();
    proceed();
    expect(await readPicked(page)).toBeUndefined();
  });
});
