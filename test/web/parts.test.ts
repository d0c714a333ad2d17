import { utimes } from 'node:fs/promises';
import { untilHealthy } from '@mayfly/launcher/service';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { hurried, noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { interruptible, inWorker, SHORT_PARTS, shortParts } from './interrupted.ts';
import { problemsOfLooks } from './looks.ts';
import { PROMISE, shownLink } from './sending.ts';

/** Longer: WEB_TEST_OFFLINE_SEC=30 npm test -- test/web/parts */
const OFFLINE_MS = 1000 * Number(process.env.WEB_TEST_OFFLINE_SEC || 2);

/** What waits for half a second or more waits for an hour: nothing goes on unless it is woken. */
const NO_WAIT_ENDS = `{ const wait = setTimeout; globalThis.setTimeout = (run, ms) => wait(run, ms < 500 ? ms : 3_600_000); }`;
/** Waits between two tries are shorter than a person would like to look at. */
const SHORT_WAITS = `{ const wait = setTimeout; globalThis.setTimeout = (run, ms) => wait(run, ms < 30_000 ? ms / 5 : ms); }`;
/** The two minutes that a part may be silent are over after two seconds, and the one of a question after one. */
const SHORT_SILENCE = hurried(120_000, 2_000) + hurried(60_000, 1_000);

describeWeb('an upload in parts', { shapes: ['all'], settings: SHORT_PARTS }, (web) => {
  const upload = interruptible(web);
  type Prepare = (context: BrowserContext) => Promise<unknown>;
  const open = (prepare: Prepare = async () => {}, locale = 'en-US') =>
    web.open({ locale }, async (context) => {
      await shortParts(context);
      await prepare(context);
    });

  test('goes on by itself, at once when the browser is online again', async () => {
    await using page = await open(inWorker(NO_WAIT_ENDS));
    await upload.choose(page);
    await upload.beginParts(page);
    upload.cut();
    await page.getByText('Connection lost. Waiting for the network').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    upload.proxy.mend();
    const isDone = async () => {
      await page.evaluate(() => dispatchEvent(new Event('online')));
      return page.getByRole('heading', { name: 'Here is your link' }).isVisible();
    };
    await expect.poll(isDone, { timeout: 60_000 }).toBe(true);
    await upload.expectArrived(page);
    expect(page.sent.filter((request) => /^POST \S+\/api\/(upload|meta)\b/.test(request))).toEqual([]);
  });

  test(`goes on by itself after ${OFFLINE_MS / 1000} seconds without a network`, {
    timeout: 240_000 + OFFLINE_MS,
  }, async () => {
    await using page = await open();
    const context = page.context();
    await upload.choose(page);
    await upload.beginParts(page);
    await context.setOffline(true);
    await page.getByText('Connection lost. Waiting for the network').waitFor();
    await page.waitForTimeout(OFFLINE_MS);
    upload.unlimited();
    await context.setOffline(false);
    await upload.expectArrived(page);
  });

  test('goes on by itself when the service was killed and is back', async () => {
    const [one] = web.running.processes;
    if (!one) throw new Error('there is one process');
    await using page = await open(inWorker(SHORT_WAITS));
    await upload.choose(page);
    await upload.beginParts(page, { share: 0.3 });
    await one.stop('SIGKILL');
    await page.getByText(/Waiting for the network|Trying again/).waitFor();
    upload.unlimited();
    one.restart();
    await untilHealthy(one);
    await upload.expectArrived(page);
  });

  test('what has gone silent is given up and sent again: parts, the question which are stored, the end', async () => {
    await using page = await open(inWorker(SHORT_SILENCE));
    const silent: string[] = [];
    await page.route(/\/api\/parts\/[^/]+(\/[23]|\/complete)?$/, async (route) => {
      const request = `${route.request().method()} ${new URL(route.request().url()).pathname}`;
      if (silent.includes(request)) return route.continue();
      silent.push(request); // nobody takes it, and nobody answers
    });
    await upload.choose(page);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await upload.expectArrived(page);
    expect(silent.map((request) => request.replace(/parts\/[^/]+/, 'parts/ID')).toSorted()).toEqual([
      'GET /api/parts/ID',
      'POST /api/parts/ID/2',
      'POST /api/parts/ID/3',
      'POST /api/parts/ID/complete',
    ]);
  });

  test('one that is stopped leaves nothing behind', async () => {
    const stored = await upload.stored();
    await using page = await open();
    await upload.choose(page);
    await upload.beginParts(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Stopped. Nothing was kept on the server.').waitFor();
    await expect.poll(stored, { timeout: 60_000 }).toEqual([]);
  });

  /** The same page after a reload that nobody has planned; the browser's question whether to leave is answered. */
  async function reload(page: Page) {
    page.once('dialog', (dialog) => void dialog.accept());
    await page.reload();
    await page.getByRole('heading', { name: 'This upload was interrupted' }).waitFor();
    await page.getByText('% of it has been sent').waitFor();
    upload.cut(); // requests of the old page, which may outlive it a little
    upload.proxy.mend();
  }

  test('is continued after a reload, with the file that the browser can still open', async () => {
    await using page = await open((context) => context.addInitScript(pickOpfsFile));
    await page.goto(upload.proxy.url);
    await writeOpfsFile(page, upload.content);
    await page.getByText('Choose files', { exact: true }).click();
    await upload.beginParts(page, { share: 0.4 });
    await reload(page);
    await page.getByText(/^[4-9]\d ?% of it/).waitFor();
    const before = page.sent.length;
    await page.getByRole('button', { name: 'Continue' }).click();
    await upload.expectArrived(page);
    const sent = page.sent.slice(before).filter((request) => /^POST \S+\/api\/parts\/[^/]+\/\d/.test(request));
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.length).toBeLessThan(upload.parts);
    // Nothing is left to continue, and the link is in the list as any other.
    await page.getByRole('link', { name: 'My uploads' }).click();
    await page.getByRole('listitem', { name: 'picked.bin' }).waitFor();
    await page.goto(upload.proxy.url);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    expect(await keptUploads(page)).toBe(0);
  });

  test('elsewhere it is continued with the same file, which is chosen again', async () => {
    await using page = await open();
    await upload.choose(page);
    await upload.beginParts(page);
    await reload(page);
    expect(await problemsOfLooks(page, 'send-unfinished')).toEqual([]);
    await page.getByLabel('Language').selectOption({ label: 'Deutsch' });
    await page.getByRole('heading', { name: 'Diese Sendung wurde unterbrochen' }).waitFor();
    await page.getByText(/% davon sind gesendet/).waitFor();
    expect(await problemsOfLooks(page, 'send-unfinished-german')).toEqual([]);
    const other = { name: 'other.bin', mimeType: '', buffer: upload.content };
    await page.setInputFiles('[data-pick=again]', other);
    await page.getByText('Wählen Sie zum Fortsetzen „large.bin“ noch einmal aus.').waitFor();
    await page.setInputFiles('[data-pick=again]', upload.path);
    await upload.expectArrived(page);
  });

  test('a file that has changed says so and is sent from the start', async () => {
    const stored = await upload.stored();
    await using page = await open();
    await upload.choose(page);
    await page.getByLabel('Downloads').selectOption({ label: '3 downloads' });
    await upload.beginParts(page);
    await utimes(upload.path, new Date(), new Date(Date.now() - 3_600_000));
    await reload(page);
    await page.setInputFiles('[data-pick=again]', upload.path);
    await page.getByText('“large.bin” has changed since then').waitFor();
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('heading', { name: 'This upload was interrupted' }).waitFor({ state: 'hidden' });
    await expect.poll(stored, { timeout: 60_000 }).toEqual([]);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    expect((await web.client.getInfo(await shownLink(page))).maxDownloads).toBe(3);
    await upload.expectArrived(page);
  });

  test('one that is discarded leaves nothing behind; one that is over says so', async () => {
    const stored = await upload.stored();
    await using page = await open();
    await upload.choose(page);
    await upload.beginParts(page);
    const other = await page.context().newPage();
    await other.goto(upload.proxy.url);
    const interrupted = other.getByRole('heading', { name: 'This upload was interrupted' });
    // It is not offered while a page is sending it: the other page waits for that one's lock.
    await other.waitForFunction(async () => (await navigator.locks.query()).pending?.length === 1);
    expect(await interrupted.count()).toBe(0);
    await reload(page);
    await interrupted.waitFor();
    await other.getByRole('button', { name: 'Discard' }).click();
    await interrupted.waitFor({ state: 'hidden' });
    await expect.poll(() => other.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    expect(await keptUploads(other)).toBe(0);
    await expect.poll(stored, { timeout: 60_000 }).toEqual([]);
    // The first page does not know that yet.
    await page.setInputFiles('[data-pick=again]', upload.path);
    await page.getByText('This upload was not finished in time').waitFor();
  });

  test('without storage it is sent all the same', async () => {
    const withoutStorage = inWorker('delete globalThis.indexedDB');
    await using page = await open(async (context) => {
      await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'indexedDB'));
      await withoutStorage(context);
    });
    await upload.choose(page);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await upload.expectArrived(page);
  });

  /** Sends the file slowly and returns the link that the page shows meanwhile. */
  async function beginEarly(page: Page): Promise<string> {
    await upload.choose(page);
    await page.getByLabel('Share the link before the upload is done').check();
    await upload.beginParts(page, { share: 0.3 });
    return shownLink(page);
  }

  test('its link can be shared before it is sent: whoever opens it sees how far it is, and then what it is', async () => {
    await using sender = await open();
    await using page = await web.open({}, async (context) => {
      await noPicker(context);
      await inWorker(SHORT_SILENCE)(context);
    });
    const link = await beginEarly(sender);
    await sender.getByText('Anyone who opens it now sees the progress and can wait.').waitFor();
    await sender.getByRole('img', { name: 'QR code' }).waitFor();
    expect(await problemsOfLooks(sender, 'send-early')).toEqual([]);
    // One answer never comes: the next question is answered.
    let questions = 0;
    await page.route('**/api/arrival/*', async (route) => {
      questions += 1;
      if (questions !== 2) await route.continue();
    });
    await page.goto(link);
    await page.getByRole('heading', { name: 'Something is being sent to you' }).waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: /^Sent so far, [3-9]0 ?%$/ })
      .waitFor();
    expect(await page.title()).toMatch(/^[3-9]\d ?% · Mayfly$/);
    expect(await problemsOfLooks(page, 'receive-arriving')).toEqual([]);
    upload.unlimited();
    await sender.getByRole('heading', { name: 'Here is your link' }).waitFor();
    expect(await shownLink(sender)).toBe(link);
    // The code that somebody is about to photograph stays where it was.
    await sender.getByRole('img', { name: 'QR code' }).waitFor();
    await page.getByText('large.bin').waitFor();
    expect(questions).toBeGreaterThan(2);
    expect(await page.title()).toMatch(/^Mayfly/);
    expect(page.sent.filter((request) => request.includes('/api/download/'))).toEqual([]);
    await upload.expectArrived(sender);
  });

  const lost = 'If you have already shared the link, it will not work.';

  test('who waits goes on at once when the page is looked at again, also in German; a stopped upload is called that', async () => {
    await using sender = await open(undefined, 'en-US');
    await using page = await web.open({ locale: 'de-DE' }, async (context) => {
      await context.addInitScript(NO_WAIT_ENDS);
    });
    const link = await beginEarly(sender);
    await page.goto(link);
    await page.getByRole('heading', { name: 'Etwas ist auf dem Weg zu Ihnen' }).waitFor();
    expect(await problemsOfLooks(page, 'receive-arriving-german')).toEqual([]);
    // A moment without the service changes nothing but what the page says.
    upload.proxy.cut();
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await page.getByText('Verbindung unterbrochen. Es geht weiter').waitFor();
    upload.proxy.mend();
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.getByText('Sobald alles da ist, geht es von selbst weiter.').waitFor();
    await sender.getByRole('button', { name: 'Cancel' }).click();
    await sender.getByRole('alert').filter({ hasText: lost }).waitFor();
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await page.locator('[data-problem=never-complete]').waitFor();
    expect(await problemsOfLooks(page, 'receive-never-complete-german')).toEqual([]);
  });

  test('its link is shown again when it is continued, and is said to be lost when it is discarded', async () => {
    await using page = await open();
    const link = await beginEarly(page);
    await reload(page);
    await page.getByText('it will work once everything has been sent').waitFor();
    upload.slowly();
    await page.setInputFiles('[data-pick=again]', upload.path);
    await page.getByText('You can already share the link').waitFor();
    expect(await shownLink(page)).toBe(link);
    await reload(page);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('status').filter({ hasText: lost }).waitFor();
  });
});

/** The browser's question cannot be answered from here. What it would give is a handle like this one, of a real file. */
function pickOpfsFile() {
  Reflect.set(globalThis, 'showOpenFilePicker', async () => {
    const folder = await navigator.storage.getDirectory();
    return [await folder.getFileHandle('picked.bin')];
  });
}

async function writeOpfsFile(page: Page, content: Buffer) {
  await page.evaluate(async (base64) => {
    const folder = await navigator.storage.getDirectory();
    const writable = await (await folder.getFileHandle('picked.bin', { create: true })).createWritable();
    await writable.write(Uint8Array.fromBase64(base64));
    await writable.close();
  }, content.toString('base64'));
}

/** How many uploads the browser has kept for another time. */
function keptUploads(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const request = indexedDB.open('mayfly-unfinished', 1);
    await new Promise((resolve) => {
      request.onsuccess = resolve;
    });
    const count = request.result.transaction('uploads').objectStore('uploads').count();
    await new Promise((resolve) => {
      count.onsuccess = resolve;
    });
    request.result.close();
    return count.result;
  });
}
