import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MayflyClient, unpack } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { freshFolder } from '@mayfly/local-stores/testing';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningShape, SHAPES } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { chooseFiles, sendFiles, sendNote, shownLink } from './sending.ts';
import { startWebService } from './web-service.ts';

/** Everything that a link holds, by name, as a program receives it. */
async function received(client: MayflyClient, link: string, password?: string): Promise<Record<string, string>> {
  const { metadata, payload } = await client.download(link, password === undefined ? {} : { password });
  const found: Record<string, string> = {};
  for await (const { name, stream } of unpack(metadata, payload)) found[name] = await new Response(stream).text();
  return found;
}

const text = (name: string, content: string) => ({ name, buffer: Buffer.from(content) });

describe.skipIf(!CHROMIUM).each(SHAPES)('a page and a program (%s; needs Chromium, else skipped)', (shape) => {
  let service: RunningShape;
  let browser: Browser;
  let client: MayflyClient;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService(shape), startBrowser()]);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  test('a program receives the file that a page has sent, with what was chosen for it', async () => {
    await using watched = await openPage(browser);
    const choices = { downloads: '3 downloads', expires: '1 hour' };
    const link = await sendFiles(watched.page, service.baseUrl, [text('a.txt', 'from a page')], choices);
    const { maxDownloads, createdAt, expiresAt, hasPassword } = await client.getInfo(link);
    expect({ maxDownloads, hasPassword, seconds: (Date.parse(expiresAt) - Date.parse(createdAt)) / 1000 }).toEqual({
      maxDownloads: 3,
      hasPassword: false,
      seconds: 3600,
    });
    expect(await received(client, link)).toEqual({ 'a.txt': 'from a page' });
    expect(watched.faults).toEqual([]);
  });

  test('a folder arrives as the files below it, with their paths', async () => {
    await using folder = await freshFolder();
    const files = { 'trip/day one.txt': 'one', 'trip/later/day two.txt': 'two', 'trip/later/größe.txt': 'three' };
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder.path, name)), { recursive: true });
      writeFileSync(join(folder.path, name), content);
    }
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    await page.setInputFiles('[data-pick=folder]', join(folder.path, 'trip'));
    await page.getByText('3 files').waitFor();
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    expect(await received(client, await shownLink(page))).toEqual(files);
    expect(watched.faults).toEqual([]);
  });

  test('a password of a page opens for a program, and nothing else does', async () => {
    await using watched = await openPage(browser);
    const link = await sendFiles(watched.page, service.baseUrl, [text('a.txt', 'locked')], { password: 'Grüße 1' });
    await expect(received(client, link, 'Gruesse 1')).rejects.toMatchObject({ code: 'wrong-password' });
    expect(await received(client, link, 'Grüße 1')).toEqual({ 'a.txt': 'locked' });
    expect(watched.faults).toEqual([]);
  });

  test('a page opens what a program has locked; a wrong password uses nothing up', async () => {
    const files = [new File(['one'], 'one.txt'), new File(['two'], 'two.txt')];
    const created = await client.uploadFiles(files, { expireSec: 3600, maxDownloads: 1, password: 'right' });
    await using watched = await openPage(browser, {}, (context) =>
      context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker')),
    );
    const { page } = watched;
    await page.goto(created.link);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByText('That is not the password. Nothing was used up').waitFor();
    await page.getByLabel('Password').fill('right');
    await page.keyboard.press('Enter');
    await page.getByText('two.txt').waitFor();
    expect((await client.getUsage(created)).usedCount).toBe(0);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^mayfly-.*\.zip$/);
    const zip = new Blob([await readFile(await download.path())]).stream();
    const metadata = {
      files: [
        { name: 'one.txt', type: '', size: 3 },
        { name: 'two.txt', type: '', size: 3 },
      ],
      archive: 'zip' as const,
    };
    const found: string[] = [];
    for await (const { stream } of unpack(metadata, zip)) found.push(await new Response(stream).text());
    expect(found).toEqual(['one', 'two']);
    await expect(client.getUsage(created)).rejects.toMatchObject({ code: 'used-up' });
    expect(watched.faults).toEqual([]);
  });

  test('notes go both ways, with a password and without, and burn', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    const open = await sendNote(page, service.baseUrl, 'Zeile 1\n<b>not bold</b> 🪰', { views: '2 views' });
    expect(await client.viewNote(open)).toMatchObject({
      text: 'Zeile 1\n<b>not bold</b> 🪰',
      viewCount: 1,
      maxViews: 2,
    });
    const locked = await sendNote(page, service.baseUrl, 'closed', { password: 'right' });
    expect((await client.viewNote(locked, { password: 'right' })).text).toBe('closed');

    const note = await client.createNote('burn <i>me</i>', { expireSec: 3600, maxViews: 1, password: 'right' });
    await page.goto(note.link);
    await page.getByLabel('Password').fill('right');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('This was the last view').waitFor();
    expect(await page.locator('[data-note]').textContent()).toBe('burn <i>me</i>');
    await page.reload();
    await page.locator('[data-problem=used-up]').waitFor();
    expect(watched.faults).toEqual([]);
  });

  test('link and key travel apart and open together', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    const link = await sendNote(page, service.baseUrl, 'in two parts');
    await page.getByText('Link and key separately').click();
    const [withoutKey, key] = [
      await page.getByRole('textbox', { name: 'Link without the key' }).inputValue(),
      await page.getByRole('textbox', { name: 'Key', exact: true }).inputValue(),
    ];
    expect(`${withoutKey}#${key}`).toBe(link);
    await page.goto(withoutKey);
    await page.getByLabel('Key').fill(key);
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('in two parts').waitFor();
    expect(watched.faults).toEqual([]);
  });

  test('its sender deletes it for everybody', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    const link = await sendFiles(page, service.baseUrl, [text('a.txt', 'gone')]);
    await page.getByRole('button', { name: 'Delete it now' }).click();
    await page.getByRole('button', { name: 'Yes, delete' }).click();
    await page.getByText('Deleted. The link opens nothing any more.').waitFor();
    await expect(client.getInfo(link)).rejects.toMatchObject({ code: 'not-found' });
    await page.getByRole('button', { name: 'Send something else' }).click();
    await chooseFiles(page, [text('b.txt', 'another')]);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    expect(await received(client, await shownLink(page))).toEqual({ 'b.txt': 'another' });
    expect(watched.faults).toEqual([]);
  });
});
