import { readFile } from 'node:fs/promises';
import type { Created } from '@mayfly/client';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { sendFiles, sendNote } from './sending.ts';

const file = (name: string, text = 'content') => ({ name, buffer: Buffer.from(text) });
const PASSPHRASE = 'four random words do';

describeWeb('the list of what a browser has sent', { shapes: ['all'] }, (web) => {
  const openList = (page: Page) => page.goto(`${web.baseUrl}/uploads`);
  const entry = (page: Page, title: string) => page.getByRole('listitem', { name: title });
  const statusOf = (page: Page, title: string) => entry(page, title).locator('[data-status]');

  test('what was sent is listed with its state, also after the browser has left the page', async () => {
    await using page = await web.open();
    const link = await sendFiles(page, web.baseUrl, [file('one.txt'), file('two.txt')], {
      downloads: '3 downloads',
    });
    const noteLink = await sendNote(page, web.baseUrl, 'text', { views: '1 view' });
    const { payload } = await web.client.download(link);
    await new Response(payload as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
    await web.client.viewNote(noteLink);
    await openList(page);
    await statusOf(page, 'one.txt, two.txt').getByText('2 of 3').waitFor();
    await page.getByText('Ended (1)').click();
    await statusOf(page, 'Text').getByText('Used up').waitFor();
    expect(await problemsOfLooks(page, 'uploads-list')).toEqual([]);

    await page.getByRole('button', { name: 'Remove the ended one from the list' }).click();
    await entry(page, 'Text').waitFor({ state: 'detached' });
    await page.reload();
    await statusOf(page, 'one.txt, two.txt').getByText('2 of 3').waitFor();
    expect(await page.getByRole('listitem').count()).toBe(1);
    expect(await page.getByText(/Ended/).count()).toBe(0);
    // What opens an item, and what owns it, stay here: the service sees ids and an item's owner token.
    for (const secret of [link, noteLink].map((one) => one.split('#')[1] ?? '')) {
      expect(page.sent.filter((request) => request.includes(secret))).toEqual([]);
    }
  });

  test('the link can be copied again, and the item deleted', async () => {
    await using page = await web.open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const link = await sendFiles(page, web.baseUrl, [file('mistake.txt')]);
    await openList(page);
    await entry(page, 'mistake.txt').getByRole('button', { name: 'Copy link' }).click();
    await entry(page, 'mistake.txt').getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);

    // With the keyboard: asked twice, and the safe answer has the focus.
    await entry(page, 'mistake.txt').getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByText('Delete it for everyone?').waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Keep it');
    expect(await problemsOfLooks(page, 'uploads-sure')).toEqual([]);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Delete');
    await page.keyboard.press('Enter');
    await page.getByText('Delete it for everyone?').waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Deleted from the service and from this list.').waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    await expect(web.client.getInfo(link)).rejects.toMatchObject({ code: 'not-found' });
    await page.reload();
    await page.locator('[data-empty]').waitFor();
  });

  test('it says when it was used; it can be used longer and more often, and ended', async () => {
    await using page = await web.open();
    const link = await sendFiles(page, web.baseUrl, [file('plan.txt')], {
      downloads: '2 downloads',
      expires: '1 hour',
    });
    const { payload } = await web.client.download(link);
    await new Response(payload as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
    await openList(page);
    const plan = entry(page, 'plan.txt');
    await plan.getByText('When it was used').click();
    await plan.getByText('1 of 1 arrived whole').waitFor();
    expect(await plan.locator('ol time').count()).toBe(1);

    await plan.getByRole('button', { name: 'Change' }).press('Enter');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SELECT');
    expect(await problemsOfLooks(page, 'uploads-change')).toEqual([]);
    expect(await plan.getByRole('button', { name: 'Save changes' }).isDisabled()).toBe(true);
    await plan.getByLabel('Ends').selectOption('1 day from now');
    await plan.getByLabel('Downloads').selectOption('5 downloads');
    await plan.getByRole('button', { name: 'Save changes' }).click();
    await statusOf(page, 'plan.txt').getByText('4 of 5').waitFor();
    await statusOf(page, 'plan.txt')
      .getByText(/^in (23 hours|24 hours|1 day)$/)
      .waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Change');
    expect(await web.client.getInfo(link)).toMatchObject({ maxDownloads: 5, downloadCount: 1 });

    await plan.getByRole('button', { name: 'Change' }).click();
    await plan.getByRole('button', { name: 'End now' }).click();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Ended (1)');
    await page.keyboard.press('Enter');
    await statusOf(page, 'plan.txt').getByText('Expired, used 1 of 5 times').waitFor();
    await expect(web.client.getInfo(link)).rejects.toMatchObject({ code: 'expired' });
    await page.reload();
    await page.getByText('Ended (1)').click();
    await statusOf(page, 'plan.txt').getByText('Expired, used 1 of 5 times').waitFor();
    await plan.getByRole('button', { name: 'Remove from the list' }).waitFor();
  });

  test('many are found by name, each button says whose it is, and the focus stays in the list', async () => {
    await using page = await web.visit(web.baseUrl);
    const created = await Promise.all(
      ['Übersicht.pdf', 'plan.txt', 'three', 'four', 'five', 'six'].map((name) =>
        web.client.uploadFiles([new File(['x'], name)], { expireSec: 3600, maxDownloads: 2 }),
      ),
    );
    await putItems(page, created.map(itemOf));
    await openList(page);
    await statusOf(page, 'plan.txt').getByText('2 of 2').waitFor();
    await page.getByLabel('Search by name').fill('ubersicht PDF');
    await entry(page, 'plan.txt').waitFor({ state: 'detached' });
    await entry(page, 'Übersicht.pdf').waitFor();
    await page.getByLabel('Search by name').fill('nonsense');
    await page.getByText('Nothing in the list has that name.').waitFor();
    await page.getByLabel('Search by name').fill('');
    for (const button of ['Copy link', 'Change', 'Delete'])
      await page.getByRole('button', { name: `${button} plan.txt`, exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete plan.txt' }).click();
    await page.getByRole('button', { name: 'Keep it plan.txt', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete now plan.txt', exact: true }).press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('three');
    await entry(page, 'plan.txt').waitFor({ state: 'detached' });
  });

  test('what is deleted right after sending is not in the list', async () => {
    await using page = await web.open();
    await sendFiles(page, web.baseUrl, [file('regret.txt')]);
    await page.getByRole('button', { name: 'Delete it now' }).click();
    await page.getByRole('button', { name: 'Yes, delete' }).click();
    await page.getByText('Deleted. The link no longer opens anything.').waitFor();
    await openList(page);
    await page.locator('[data-empty]').waitFor();
  });

  test('an item that its time has ended says so, one that is gone too', async () => {
    await using page = await web.open();
    await sendFiles(page, web.baseUrl, [file('brief.txt')], { expires: '1 second' });
    const link = await sendFiles(page, web.baseUrl, [file('removed.txt')], { expires: '1 day' });
    const items = await ownItems(page);
    const removed = items.find(({ link: one }) => one === link);
    await web.client.remove({ kind: 'upload', id: String(removed?.id) }, String(removed?.ownerSecret));
    await openList(page);
    await page.getByText('Ended (2)').click();
    await statusOf(page, 'brief.txt').getByText('Expired').waitFor();
    await statusOf(page, 'removed.txt').getByText('Deleted').waitFor();
  });

  test('the list moves to another browser in a file under a passphrase', async () => {
    await using one = await web.open();
    const link = await sendFiles(one, web.baseUrl, [file('luggage.txt')], { downloads: '2 downloads' });
    await openList(one);
    await one.getByText('Export the list').click();
    const exported = one.locator('[data-export]').getByLabel('Passphrase');
    await exported.fill('x');
    await one.getByRole('button', { name: 'Encrypt and save' }).click();
    await one.getByRole('alert').filter({ hasText: 'This passphrase is easy to guess' }).waitFor();
    await exported.fill(PASSPHRASE);
    expect(await problemsOfLooks(one, 'uploads-export')).toEqual([]);
    const [download] = await Promise.all([
      one.waitForEvent('download'),
      one.getByRole('button', { name: 'Encrypt and save' }).click(),
    ]);
    const saved = await readFile(await download.path(), 'utf8');
    expect(saved).toContain('"mayfly sent list"');
    expect(saved).not.toContain('luggage');

    await using page = await web.open();
    await openList(page);
    const importFile = async (text: string, passphrase: string) => {
      await page.getByLabel('Exported file').setInputFiles({
        name: 'list.json',
        mimeType: 'application/json',
        buffer: Buffer.from(text),
      });
      await page.locator('[data-import]').getByLabel('Passphrase').fill(passphrase);
      await page.getByRole('button', { name: 'Decrypt and add' }).click();
    };
    await page.getByText('Import a list').click();
    await importFile(saved, 'not the passphrase');
    await page.getByRole('alert').filter({ hasText: 'The passphrase is wrong, or the file was changed.' }).waitFor();
    // Both are still there, for another try.
    await page.locator('[data-import]').getByText('list.json').waitFor();
    const typed = page.locator('[data-import]').getByLabel('Passphrase');
    await expect.poll(() => typed.evaluate((field) => field === document.activeElement)).toBe(true);
    expect(await typed.inputValue()).toBe('not the passphrase');
    await importFile('{"format":"something else"}', PASSPHRASE);
    await page.getByText('This is not an exported list.').waitFor();
    await importFile(saved, PASSPHRASE);
    await page.getByText('1 added, 0 already in the list.').waitFor();
    await importFile(saved, PASSPHRASE);
    await page.getByText('0 added, 1 already in the list.').waitFor();
    expect(await problemsOfLooks(page, 'uploads-import')).toEqual([]);
    await statusOf(page, 'luggage.txt').getByText('2 of 2').waitFor();

    // The other browser owns it now, too.
    await entry(page, 'luggage.txt').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete now' }).click();
    await page.locator('[data-empty]').waitFor();
    await expect(web.client.getInfo(link)).rejects.toMatchObject({ code: 'not-found' });
  });

  test.each([
    [
      'is not there',
      (context: BrowserContext) => context.addInitScript(() => Reflect.deleteProperty(globalThis, 'indexedDB')),
    ],
    ['is forbidden', (context: BrowserContext) => context.addInitScript(forbidIndexedDb)],
  ])(
    'where storage %s, everything is sent all the same, and the list lasts as long as the page',
    async (_, prepare) => {
      await using page = await web.open({}, prepare);
      await sendFiles(page, web.baseUrl, [file('fleeting.txt')]);
      await page.getByRole('link', { name: 'My uploads' }).click();
      await entry(page, 'fleeting.txt').waitFor();
      await page.getByText('This browser does not let the page store anything.').waitFor();
      expect(await problemsOfLooks(page, 'uploads-not-kept')).toEqual([]);
      // Back, the link is still there.
      await page.goBack();
      await page.getByRole('heading', { name: 'Here is your link' }).waitFor();
    },
  );

  test('the list speaks German', async () => {
    await using page = await web.visit(web.baseUrl, { locale: 'de-DE' });
    const files = [new File(['x'], 'Ein recht langer Name einer Datei, der nicht in eine Zeile passt.pdf')];
    const created = await web.client.uploadFiles(files, { expireSec: 3600, maxDownloads: 2 });
    await putItems(page, [itemOf(created, 0)]);
    await openList(page);
    await page.getByRole('heading', { name: 'Meine Sendungen' }).waitFor();
    await page.getByText('Diese Liste übertragen').waitFor();
    await page.getByText('2 von 2').waitFor();
    expect(await problemsOfLooks(page, 'uploads-german')).toEqual([]);
  });
});

function forbidIndexedDb() {
  Object.defineProperty(globalThis, 'indexedDB', {
    get() {
      throw new DOMException('denied', 'SecurityError');
    },
  });
}

/** What the page has in its database. */
function ownItems(page: Page): Promise<{ id: string; link: string; ownerSecret: string }[]> {
  return page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const opening = indexedDB.open('mayfly-sent');
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          const reading = opening.result.transaction('items').objectStore('items').getAll();
          reading.onsuccess = () => {
            opening.result.close();
            resolve(reading.result);
          };
        };
      }),
  );
}

/** The first is the newest. */
function itemOf({ kind, id, link, ownerSecret }: Created, index: number) {
  const sentAt = new Date(Date.now() - index * 1000).toISOString();
  const names = ['Übersicht.pdf', 'plan.txt', 'three', 'four', 'five', 'six'];
  const common = { kind, id, link, ownerSecret, sentAt, expiresAt: new Date(Date.now() + 3_600_000).toISOString() };
  return { ...common, maxUses: 2, hasPassword: false, files: [{ name: names[index], size: 1 }] };
}

/** Into the list of a page, as if it had sent them. */
function putItems(page: Page, items: ReturnType<typeof itemOf>[]) {
  return page.evaluate(
    (items) =>
      new Promise<void>((resolve, reject) => {
        const opening = indexedDB.open('mayfly-sent', 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore('items');
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          const writing = opening.result.transaction('items', 'readwrite');
          for (const item of items) {
            const { origin: service } = location;
            writing.objectStore('items').put({ ...item, service }, `${item.kind} ${item.id} ${service}`);
          }
          writing.oncomplete = () => {
            opening.result.close();
            resolve();
          };
        };
      }),
    items,
  );
}
