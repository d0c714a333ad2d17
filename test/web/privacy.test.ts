import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningShape } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { sendFiles, sendNote } from './sending.ts';
import { openTamperingProxy } from './tampering-proxy.ts';
import { startWebService } from './web-service.ts';

const CANARY = 'canary-4711-plain';

describe.skipIf(!CHROMIUM)('what leaves a browser (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let client: MayflyClient;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService('all'), startBrowser()]);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  test('is never the key, the password, a name or a word of what is sent', async () => {
    await using proxy = await openTamperingProxy(service.baseUrl, { records: true });
    await using watched = await openPage(browser, {}, (context) =>
      context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker')),
    );
    const { page, requests } = watched;
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
    await page.getByRole('heading', { name: 'Saved, whole and unchanged' }).waitFor();
    await page.goto(noteLink);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText(`${CANARY} in a note`).waitFor();
    await page.getByRole('link', { name: 'My uploads' }).click();
    await page.getByRole('heading', { name: 'My uploads' }).waitFor();

    const secrets = [fileLink, noteLink].map((link) => link.split('#')[1] ?? 'no key');
    const forbidden = [CANARY, ...secrets, Buffer.from(CANARY).toString('base64').slice(0, 20)];
    const sent = Buffer.concat(proxy.sent).toString('latin1');
    for (const path of ['/api/upload', '/api/meta/', '/api/note', '/api/password/', '/api/download/', '/view']) {
      expect(sent.includes(path)).toBe(true);
    }
    for (const word of forbidden) expect(sent.includes(word)).toBe(false);
    for (const { output } of service.processes) {
      for (const word of forbidden) expect(output().includes(word)).toBe(false);
    }
    const hosts = new Set(requests.map((text) => new URL(text.split(/\s/)[1] ?? '').host));
    expect([...hosts]).toEqual([new URL(proxy.url).host]);
    expect(requests.filter((text) => /"referer":"[^"]/i.test(text))).toEqual([]);
    expect(watched.faults).toEqual([]);
  });

  test('opening a link, as a preview or a mail scanner does, spends nothing', async () => {
    const upload = await client.uploadFiles([new File(['once'], 'once.txt')], { expireSec: 3600, maxDownloads: 1 });
    const note = await client.createNote('once', { expireSec: 3600, maxViews: 1 });
    await using watched = await openPage(browser);
    const { page } = watched;
    for (const { link } of [upload, note]) {
      for (const method of ['GET', 'HEAD']) await fetch(link, { method });
      await page.goto(link);
      await page.getByRole('button', { name: /Download|Read the note/ }).waitFor();
      await page.reload();
      await page.getByRole('button', { name: /Download|Read the note/ }).waitFor();
    }
    expect((await client.getUsage(upload)).usedCount).toBe(0);
    expect((await client.getUsage(note)).usedCount).toBe(0);
    expect(watched.faults).toEqual([]);
  });

  test('everything works without a place to store anything', async () => {
    await using watched = await openPage(browser, {}, (context) =>
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
    const link = await sendNote(watched.page, service.baseUrl, 'nothing stored');
    expect((await client.viewNote(link)).text).toBe('nothing stored');
    expect(watched.faults).toEqual([]);
  });
});
