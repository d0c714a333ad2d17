import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type MayflyClient, parseLink, unpack } from '@mayfly/client';
import { SHAPES } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { chooseFiles, sendFiles, sendNote, shownLink } from './sending.ts';

/** Everything that a link holds, by name, as a program receives it. */
async function received(client: MayflyClient, link: string, password?: string): Promise<Record<string, string>> {
  const { metadata, payload } = await client.download(link, password === undefined ? {} : { password });
  const found: Record<string, string> = {};
  for await (const { name, stream } of unpack(metadata, payload)) found[name] = await new Response(stream).text();
  return found;
}

const text = (name: string, content: string) => ({ name, buffer: Buffer.from(content) });

describeWeb('a page and a program', { shapes: SHAPES }, (web) => {
  const shared = web.sharePage({}, noPicker);

  test('what one page sends, another page receives', async () => {
    const content = 'a canary in a file '.repeat(20_000);
    const link = await sendFiles(shared(), web.baseUrl, [text('canary.txt', content)]);
    await using page = await web.visit(link, {}, noPicker);
    await page.getByText('canary.txt').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('canary.txt');
    expect(await readFile(await download.path(), 'utf8')).toBe(content);
    await page.getByRole('heading', { name: 'Downloaded and verified' }).waitFor();
  });

  test('a program receives the file that a page has sent, with what was chosen for it', async () => {
    const choices = { downloads: '3 downloads', expires: '1 hour' };
    const link = await sendFiles(shared(), web.baseUrl, [text('a.txt', 'from a page')], choices);
    const { maxDownloads, createdAt, expiresAt, hasPassword } = await web.client.getInfo(link);
    expect({ maxDownloads, hasPassword, seconds: (Date.parse(expiresAt) - Date.parse(createdAt)) / 1000 }).toEqual({
      maxDownloads: 3,
      hasPassword: false,
      seconds: 3600,
    });
    expect(await received(web.client, link)).toEqual({ 'a.txt': 'from a page' });
  });

  test.each([false, true])(
    'a page opens what a program has locked, sealed: %s; a wrong password uses nothing up',
    async (sealedMetadata) => {
      const files = [new File(['one'], 'one.txt'), new File(['two'], 'two.txt')];
      const created = await web.client.uploadFiles(files, {
        expireSec: 3600,
        maxDownloads: 1,
        password: 'right',
        sealedMetadata,
      });
      const page = shared();
      await page.goto(created.link);
      await page.getByLabel('Password').fill('wrong');
      await page.getByRole('button', { name: 'Unlock' }).click();
      await page.getByText('That is not the password. Nothing was used up').waitFor();
      await page.getByLabel('Password').fill('right');
      await page.keyboard.press('Enter');
      await page.getByText('two.txt').waitFor();
      expect((await web.client.getUsage(created)).usedCount).toBe(0);
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
      await expect(web.client.getUsage(created)).rejects.toMatchObject({ code: 'used-up' });
    },
  );

  test('notes go both ways, with a password and without, and burn', async () => {
    const page = shared();
    const open = await sendNote(page, web.baseUrl, 'Zeile 1\n<b>not bold</b> 🪰', { views: '2 views' });
    expect(await web.client.viewNote(open)).toMatchObject({
      text: 'Zeile 1\n<b>not bold</b> 🪰',
      viewCount: 1,
      maxViews: 2,
    });
    const locked = await sendNote(page, web.baseUrl, 'closed', { password: 'right' });
    expect((await web.client.viewNote(locked, { password: 'right' })).text).toBe('closed');

    const note = await web.client.createNote('burn <i>me</i>', { expireSec: 3600, maxViews: 1, password: 'right' });
    await page.goto(note.link);
    await page.getByLabel('Password').fill('right');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('This was the last view').waitFor();
    expect(await page.locator('[data-note]').textContent()).toBe('burn <i>me</i>');
    await page.reload();
    await page.locator('[data-problem=used-up]').waitFor();
  });

  // The rest is of page and program alone: one shape shows it.
  if (web.shape === 'split') return;

  test('a folder arrives as the files below it, with their paths', async () => {
    await using folder = await freshFolder();
    const files = { 'trip/day one.txt': 'one', 'trip/later/day two.txt': 'two', 'trip/later/größe.txt': 'three' };
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder.path, name)), { recursive: true });
      writeFileSync(join(folder.path, name), content);
    }
    const page = shared();
    await page.goto(web.baseUrl);
    await page.setInputFiles('[data-pick=folder]', join(folder.path, 'trip'));
    await page.getByText('3 files').waitFor();
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    expect(await received(web.client, await shownLink(page))).toEqual(files);
  });

  test('a password of a page opens for a program, and nothing else does', async () => {
    const link = await sendFiles(shared(), web.baseUrl, [text('a.txt', 'locked')], { password: 'Grüße 1' });
    expect((await parseLink(link)).protection).toEqual({ passwordAlgo: 'argon2id', isSealed: true });
    await expect(received(web.client, link, 'Gruesse 1')).rejects.toMatchObject({ code: 'wrong-password' });
    expect(await received(web.client, link, 'Grüße 1')).toEqual({ 'a.txt': 'locked' });
  });

  test('link and key travel apart and open together', async () => {
    const page = shared();
    const link = await sendNote(page, web.baseUrl, 'in two parts');
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
  });

  test('its sender deletes it for everybody', async () => {
    const page = shared();
    const link = await sendFiles(page, web.baseUrl, [text('a.txt', 'gone')]);
    await page.getByRole('button', { name: 'Delete it now' }).click();
    await page.getByRole('button', { name: 'Yes, delete' }).click();
    await page.getByText('Deleted. The link no longer opens anything.').waitFor();
    await expect(web.client.getInfo(link)).rejects.toMatchObject({ code: 'not-found' });
    await page.getByRole('button', { name: 'Send something else' }).click();
    await chooseFiles(page, [text('b.txt', 'another')]);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    expect(await received(web.client, await shownLink(page))).toEqual({ 'b.txt': 'another' });
  });
});
