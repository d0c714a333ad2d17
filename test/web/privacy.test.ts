import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import { expect, test } from 'vitest';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { sendFiles, sendNote } from './sending.ts';

const CANARY = 'canary-4711-plain';

describeWeb('what leaves a browser', { shapes: ['all'] }, (web) => {
  test('is never the key, the password, a name or a word of what is sent', async () => {
    await using proxy = await openTamperingProxy(web.baseUrl, { records: true });
    await using page = await web.open({}, noPicker);
    const password = `${CANARY}-password`;
    const file = { name: `${CANARY}.txt`, buffer: Buffer.from(`${CANARY} `.repeat(1000)) };
    const fileLink = await sendFiles(page, proxy.url, [file], { password });
    const noteLink = await sendNote(page, proxy.url, `${CANARY} in a note`);
    await page.goto(fileLink);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Unlock' }).click();
    await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    await page.getByRole('heading', { name: 'Downloaded and verified' }).waitFor();
    await page.goto(noteLink);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText(`${CANARY} in a note`).waitFor();
    await page.getByRole('link', { name: 'My uploads' }).click();
    await page.getByRole('heading', { name: 'My uploads' }).waitFor();

    const secrets = [fileLink, noteLink].map((link) => link.split('#')[1] ?? 'no key');
    const forbidden = [CANARY, ...secrets, Buffer.from(CANARY).toString('base64').slice(0, 20)];
    const sent = Buffer.concat(proxy.sent).toString('latin1');
    for (const path of ['/api/upload', '/api/meta/', '/api/note', '/api/unlock/', '/api/lease/', '/view']) {
      expect(sent.includes(path)).toBe(true);
    }
    for (const word of forbidden) expect(sent.includes(word)).toBe(false);
    for (const { output } of web.running.processes) {
      for (const word of forbidden) expect(output().includes(word)).toBe(false);
    }
    const hosts = new Set(page.sent.map((text) => new URL(text.split(/\s/)[1] ?? '').host));
    expect([...hosts]).toEqual([new URL(proxy.url).host]);
    expect(page.sent.filter((text) => /"referer":"[^"]/i.test(text))).toEqual([]);
  });

  test('opening a link, as a preview or a mail scanner does, spends nothing', async () => {
    const upload = await web.client.uploadFiles([new File(['once'], 'once.txt')], { expireSec: 3600, maxDownloads: 1 });
    const note = await web.client.createNote('once', { expireSec: 3600, maxViews: 1 });
    await using page = await web.open();
    for (const { link } of [upload, note]) {
      for (const method of ['GET', 'HEAD']) await fetch(link, { method });
      await page.goto(link);
      await page.getByRole('button', { name: /Download|Read the note/ }).waitFor();
      await page.reload();
      await page.getByRole('button', { name: /Download|Read the note/ }).waitFor();
    }
    expect((await web.client.getUsage(upload)).usedCount).toBe(0);
    expect((await web.client.getUsage(note)).usedCount).toBe(0);
  });

  test('everything works without a place to store anything', async () => {
    await using page = await web.open({}, (context) =>
      context.addInitScript(() => {
        for (const name of ['localStorage', 'sessionStorage', 'indexedDB']) {
          Object.defineProperty(globalThis, name, {
            get() {
              throw new DOMException('denied', 'SecurityError');
            },
          });
        }
      }),
    );
    const link = await sendNote(page, web.baseUrl, 'nothing stored');
    expect((await web.client.viewNote(link)).text).toBe('nothing stored');
  });
});
