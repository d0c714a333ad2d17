import { createHash, randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askForFiles, dropFiles } from './asking.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { chooseFiles, sendFiles, sendNote, shownLink } from './sending.ts';

const newKey = () => `mfk_${randomBytes(32).toString('base64url')}`;
const KEY = newKey();
const FILE = { name: 'a.txt', buffer: Buffer.from('guarded') };
const NEEDED = /^Sending from this page takes a key/;
const UNKNOWN = /^This service does not know this key/;

const settings = { CREATE_GUARD: 'key', CREATE_KEYS: createHash('sha256').update(KEY).digest('hex') };

const field = (page: Page) => page.getByLabel('Key for sending');
const creating = (requests: string[]) =>
  requests.filter((text) => /^POST \S+\/api\/(upload|parts|note|request)\s/.test(text));

describeWeb('a page where sending takes a key', { shapes: ['all'], settings }, (web) => {
  test('says so before anything is chosen, and sends nothing without one', async () => {
    await using page = await web.visit(web.baseUrl);
    await page.getByText(NEEDED).waitFor();
    await chooseFiles(page, [FILE]);
    for (const none of ['', 'mfk_short', 'ключ', `Bearer ${KEY}`]) {
      await field(page).fill(none);
      await page.getByRole('button', { name: 'Encrypt and send' }).click();
      await page.getByText(UNKNOWN).waitFor();
    }
    expect(await field(page).evaluate((element) => element === document.activeElement)).toBe(true);
    expect(creating(page.sent)).toEqual([]);
    expect(await problemsOfLooks(page, 'guarded')).toEqual([]);
  });

  test('tells that a key is unknown, and sends with the right one', async () => {
    await using page = await web.visit(web.baseUrl);
    await chooseFiles(page, [FILE]);
    await field(page).fill(newKey());
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.getByText(UNKNOWN).waitFor();
    await field(page).fill(KEY);
    await page.getByText(UNKNOWN).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    const link = await shownLink(page);
    expect((await web.client.getInfo(link)).metadata?.files[0]?.name).toBe('a.txt');
  });

  test('keeps the key for this tab, and for nothing else', async () => {
    await using page = await web.visit(web.baseUrl);
    await field(page).fill(` ${KEY} `);
    expect(await sendFiles(page, web.baseUrl, [FILE])).toContain('/d/');
    expect(await sendNote(page, web.baseUrl, 'guarded')).toContain('/n/');
    const other = await page.context().newPage();
    await other.goto(web.baseUrl);
    expect(await field(other).inputValue()).toBe('');
    const kept = await other.evaluate(async () => [
      JSON.stringify(localStorage),
      document.cookie,
      ...(await indexedDB.databases()).map(({ name }) => name),
    ]);
    expect(kept.join()).not.toContain(KEY);
  });

  test('sends the key to what creates, and to nothing else', async () => {
    await using page = await web.open();
    const bearing: string[] = [];
    page.context().on('request', (request) => {
      if (request.headers().authorization === `Bearer ${KEY}`) bearing.push(new URL(request.url()).pathname);
    });
    await page.goto(web.baseUrl);
    await field(page).fill(KEY);
    await sendFiles(page, web.baseUrl, [FILE]);
    await sendNote(page, web.baseUrl, 'guarded');
    expect(bearing).toEqual(['/api/upload', '/api/note']);
  });

  test('whoever has the link of a request sends without a key', async () => {
    await using asker = await web.visit(`${web.baseUrl}/request`);
    await asker.getByText(NEEDED).waitFor();
    await asker.getByLabel('What do you need?').fill('Papers');
    await asker.getByRole('button', { name: 'Make the links' }).click();
    await asker.getByText(UNKNOWN).waitFor();
    await field(asker).fill(KEY);
    const { dropLink, keepLink } = await askForFiles(asker, web.baseUrl, 'Papers');

    await using sender = await web.visit(dropLink);
    await sender.getByRole('heading', { name: 'Papers' }).waitFor();
    expect(await field(sender).count()).toBe(0);
    await dropFiles(sender, [FILE]);
    await asker.goto(keepLink);
    await asker.getByText('One delivery has arrived').waitFor();
  });
});

describeWeb('a page where everybody may send', { shapes: ['all'] }, (web) => {
  test('says nothing of keys', async () => {
    await using page = await web.open();
    await sendFiles(page, web.baseUrl, [FILE]);
    await page.goto(web.baseUrl);
    await chooseFiles(page, [FILE]);
    expect(await page.getByText(NEEDED).count()).toBe(0);
    expect(await field(page).count()).toBe(0);
  });
});
