import { untilHealthy } from '@mayfly/launcher/service';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { interruptible } from './interrupted.ts';
import { chooseFiles, PROMISE, shownLink } from './sending.ts';

const IN_ONE_PIECE = { UPLOAD_SESSION_SEC: '0' };

describeWeb('an upload in one piece that meets trouble', { shapes: ['all'], settings: IN_ONE_PIECE }, (web) => {
  const upload = interruptible(web);

  /** Begins an upload. Returns what is stored of it, as soon as the service has some. */
  async function beginUpload(page: Page) {
    const stored = await upload.stored();
    await upload.choose(page);
    await upload.beginSlowly(page);
    await expect.poll(stored, { timeout: 60_000 }).not.toEqual([]);
    return stored;
  }

  /** Has chosen a file that is sent at once. */
  async function chooseSmallFile(page: Page) {
    upload.unlimited();
    await page.goto(upload.proxy.url);
    await chooseFiles(page, [{ name: 'a.txt', buffer: Buffer.from('small') }]);
  }

  test('goes on when the connection is back', async () => {
    await using page = await web.open();
    await beginUpload(page);
    upload.cut();
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached' }).waitFor();
    // Still away: the next try fails in the same way.
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached' }).waitFor();
    upload.proxy.mend();
    await page.getByRole('button', { name: 'Try again' }).click();
    await upload.expectArrived(page);
  });

  test('goes on by itself when the browser is online again', async () => {
    await using page = await web.open();
    await beginUpload(page);
    upload.cut();
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached' }).waitFor();
    upload.proxy.mend();
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await upload.expectArrived(page);
  });

  test('survives a restart of the service in its middle', async () => {
    const [one] = web.running.processes;
    if (!one) throw new Error('there is one process');
    await using page = await web.open();
    await beginUpload(page);
    await one.stop('SIGKILL');
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    upload.unlimited();
    one.restart();
    await untilHealthy(one);
    await page.getByRole('button', { name: 'Try again' }).click();
    await upload.expectArrived(page);
  });

  test('a description whose answer was lost is not sent twice', async () => {
    await using page = await web.open();
    await chooseSmallFile(page);
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
    expect((await web.client.getInfo(link)).metadata?.files[0]?.name).toBe('a.txt');
  });

  test('a service that is busy says when to try again', async () => {
    await using page = await web.open();
    await chooseSmallFile(page);
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
  });

  test('one that was stopped leaves nothing behind', async () => {
    await using page = await web.open();
    const stored = await beginUpload(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Stopped. Nothing was kept on the server.').waitFor();
    // What was chosen is still there, for another try.
    await page.getByText('large.bin').waitFor();
    await expect.poll(stored, { timeout: 60_000 }).toEqual([]);
  });

  test('the link is shown even if the connection goes with its last byte', async () => {
    await using page = await web.open();
    await chooseSmallFile(page);
    await page.route('**/api/meta/*', async (route) => {
      const answer = await route.fetch();
      await page.route('**/*', (other) => other.abort());
      await route.fulfill({ response: answer });
    });
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    expect((await web.client.getInfo(await shownLink(page))).metadata?.files[0]?.name).toBe('a.txt');
  });

  test('a page that cannot learn the limits says so, and can ask again', async () => {
    await using page = await web.open();
    upload.unlimited();
    let isAway = true;
    await page.route('**/api/config', (route) => (isAway ? route.abort() : route.continue()));
    await page.goto(upload.proxy.url);
    await page.locator('[data-problem=network]').waitFor();
    isAway = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: PROMISE }).waitFor();
  });
});
