import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { freshFolder } from '@mayfly/local-stores/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningShape, stopService, untilHealthy } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { chooseFiles, shownLink } from './sending.ts';
import { openTamperingProxy, type TamperingProxy } from './tampering-proxy.ts';
import { startWebService } from './web-service.ts';

const CONTENT = Buffer.alloc(20_000_000, 'an upload that meets trouble. ');

describe.skipIf(!CHROMIUM)('an upload that meets trouble (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let proxy: TamperingProxy;
  let folder: Awaited<ReturnType<typeof freshFolder>>;
  let large: string;
  let baseUrl: string;
  let client: MayflyClient;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService('all'), startBrowser()]);
    proxy = await openTamperingProxy(service.baseUrl);
    baseUrl = proxy.url;
    folder = await freshFolder();
    large = join(folder.path, 'large.bin');
    await writeFile(large, CONTENT);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await proxy?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
  });

  /** Begins an upload and returns when the service has some of it: the proxy is slow enough to break it then. */
  async function beginUpload(page: Page) {
    const before = await service.blobs.names();
    await page.goto(baseUrl);
    await page.setInputFiles('[data-pick=files]', large);
    proxy.uploadBytesPerSec = 6_000_000;
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await untilBegun(before);
  }

  /** What is stored and was not before. What an earlier test has left may go meanwhile. */
  async function newBlobs(before: string[]): Promise<string[]> {
    return (await service.blobs.names()).filter((name) => !before.includes(name));
  }

  function untilBegun(before: string[]) {
    return expect.poll(() => newBlobs(before), { timeout: 60_000 }).not.toEqual([]);
  }

  async function expectArrived(page: Page) {
    const link = await shownLink(page);
    const { payload } = await client.download(link);
    expect(Buffer.from(await new Response(payload).arrayBuffer()).equals(CONTENT)).toBe(true);
  }

  test('goes on when the connection is back', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await beginUpload(page);
    proxy.cut();
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached' }).waitFor();
    // Still away: the next try fails in the same way.
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached' }).waitFor();
    proxy.mend();
    await page.getByRole('button', { name: 'Try again' }).click();
    await expectArrived(page);
    expect(watched.faults).toEqual([]);
  });

  test('goes on by itself when the browser is online again', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await beginUpload(page);
    proxy.cut();
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached' }).waitFor();
    proxy.mend();
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await expectArrived(page);
    expect(watched.faults).toEqual([]);
  });

  test('survives a restart of the service in its middle', async () => {
    const [one] = service.processes;
    if (!one) throw new Error('there is one process');
    await using watched = await openPage(browser);
    const { page } = watched;
    await beginUpload(page);
    await stopService(one, 'SIGKILL');
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    proxy.uploadBytesPerSec = Number.POSITIVE_INFINITY;
    one.restart();
    await untilHealthy(one, service.baseUrl);
    await page.getByRole('button', { name: 'Try again' }).click();
    await expectArrived(page);
    expect(watched.faults).toEqual([]);
  });

  test('a description whose answer was lost is not sent twice', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    proxy.uploadBytesPerSec = Number.POSITIVE_INFINITY;
    await page.goto(baseUrl);
    await chooseFiles(page, [{ name: 'a.txt', buffer: Buffer.from('small') }]);
    let tries = 0;
    await page.route('**/api/meta/*', async (route) => {
      tries += 1;
      if (tries > 1) return route.continue();
      await route.fetch();
      await route.abort(); // it arrived, and nobody told
    });
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.getByRole('button', { name: 'Try again' }).click();
    const link = await shownLink(page);
    expect(tries).toBe(2);
    expect((await client.getInfo(link)).metadata?.files[0]?.name).toBe('a.txt');
    expect(watched.faults).toEqual([]);
  });

  test('a service that is busy says when to try again', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(baseUrl);
    await chooseFiles(page, [{ name: 'a.txt', buffer: Buffer.from('small') }]);
    let isBusy = true;
    await page.route('**/api/upload', (route) =>
      isBusy
        ? route.fulfill({ status: 429, headers: { 'retry-after': '120' }, json: { error: 'Upload quota exceeded' } })
        : route.continue(),
    );
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.getByText('Try again in 2 minutes').waitFor();
    isBusy = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await shownLink(page);
    expect(watched.faults).toEqual([]);
  });

  test('one that was stopped leaves nothing behind', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    const before = await service.blobs.names();
    await page.goto(baseUrl);
    await page.setInputFiles('[data-pick=files]', large);
    proxy.uploadBytesPerSec = 6_000_000;
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await untilBegun(before);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Stopped. Nothing was kept on the server.').waitFor();
    // What was chosen is still there, for another try.
    await page.getByText('large.bin').waitFor();
    await expect.poll(() => newBlobs(before), { timeout: 60_000 }).toEqual([]);
    expect(watched.faults).toEqual([]);
  });

  test('the link is shown even if the connection goes with its last byte', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    proxy.uploadBytesPerSec = Number.POSITIVE_INFINITY;
    await page.goto(baseUrl);
    await chooseFiles(page, [{ name: 'a.txt', buffer: Buffer.from('small') }]);
    await page.route('**/api/meta/*', async (route) => {
      const answer = await route.fetch();
      await page.route('**/*', (other) => other.abort());
      await route.fulfill({ response: answer });
    });
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    expect((await client.getInfo(await shownLink(page))).metadata?.files[0]?.name).toBe('a.txt');
    expect(watched.faults).toEqual([]);
  });

  test('a page that cannot learn the limits says so, and can ask again', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    proxy.uploadBytesPerSec = Number.POSITIVE_INFINITY;
    let isAway = true;
    await page.route('**/api/config', (route) => (isAway ? route.abort() : route.continue()));
    await page.goto(baseUrl);
    await page.locator('[data-problem=network]').waitFor();
    isAway = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Send files or a note' }).waitFor();
    expect(watched.faults).toEqual([]);
  });
});
