import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb, type Web } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';

const FILES = {
  'trip/day 1/beach.jpg': 'b'.repeat(300_000),
  'trip/day 2/hill.jpg': 'h'.repeat(200_000),
  'read me.txt': 'hi',
};

function send(baseUrl: string, maxDownloads = 3) {
  const client = new MayflyClient({ baseUrl, transport: nodeTransport() });
  const files = Object.entries(FILES).map(([name, text]) => new File([text], name));
  return client.uploadFiles(files, { expireSec: 3600, maxDownloads });
}

/** The dialog cannot be clicked from here. What it would give is a handle like this one, of a real folder. */
const openReceiver = (web: Web, link: string) =>
  web.visit(link, {}, (context) =>
    context.addInitScript(() =>
      Reflect.set(globalThis, 'showDirectoryPicker', async () => {
        const storage = await navigator.storage.getDirectory();
        return storage.getDirectoryHandle('chosen', { create: true });
      }),
    ),
  );

describeWeb('archives in a browser', { shapes: ['all'] }, (web) => {
  test('the entries are listed before anything is spent, folder by folder', async () => {
    const { link } = await send(web.baseUrl);
    await using page = await openReceiver(web, link);
    const entries = page.locator('[data-entries]');
    await entries.getByText('beach.jpg').waitFor();
    await entries.getByText('trip/').waitFor();
    await entries.getByText('2 files, 500 kB').waitFor();
    expect(await problemsOfLooks(page, 'archive-entries')).toEqual([]);
    expect(page.sent.filter((request) => request.includes('/api/download/'))).toEqual([]);
  });

  test('a name that hides what it is, is shown with a mark in it', async () => {
    const client = new MayflyClient({ baseUrl: web.baseUrl, transport: nodeTransport() });
    const files = ['photo\u202egpj.exe', 'other'].map((name) => new File(['x'], name));
    const { link } = await client.uploadFiles(files, { expireSec: 3600, maxDownloads: 1 });
    await using page = await openReceiver(web, link);
    await page.getByText('photo□gpj.exe').waitFor();
  });

  test('an archive is unpacked into a folder while it arrives', async () => {
    const { link } = await send(web.baseUrl);
    await using page = await openReceiver(web, link);
    await page.getByRole('button', { name: 'Unpack into a folder' }).click();
    await page.getByText('3 files are in the folder, verified.').waitFor();
    expect(await problemsOfLooks(page, 'archive-unpacked')).toEqual([]);
    expect(await readFolder(page)).toEqual(FILES);
    // Once more: nothing that is there is written over.
    await page.reload();
    await page.getByRole('button', { name: 'Unpack into a folder' }).click();
    await page.getByText('read me (2).txt').waitFor();
    expect(await readFolder(page)).toMatchObject({
      ...FILES,
      'trip/day 1/beach (2).jpg': FILES['trip/day 1/beach.jpg'],
    });
  });
});

// Those that can be continued are in continuing.test.ts.
describeWeb(
  'archives without leases in a browser',
  { shapes: ['all'], settings: { DOWNLOAD_LEASE_SEC: '0' } },
  (web) => {
    test.each([
      ['is cut off', { kind: 'cut', at: 400_000 } as const, 'network'],
      ['was changed', { kind: 'flip', at: 400_000 } as const, 'tampered'],
    ])(
      'when an archive %s on its way, only complete files are in the folder, and the page says so',
      async (_, tampering, code) => {
        await using proxy = await openTamperingProxy(web.baseUrl);
        const { link } = await send(proxy.url);
        proxy.tampering = tampering;
        await using page = await openReceiver(web, link);
        await page.getByRole('button', { name: 'Unpack into a folder' }).click();
        await page.getByText('the others are not').waitFor();
        expect(await page.locator('[data-problem]').getAttribute('data-problem')).toBe(code);
        const saved = await readFolder(page);
        // What is found to be wrong throws away what was decrypted before and not yet written: the first file may be missing.
        expect([{}, { 'trip/day 1/beach.jpg': FILES['trip/day 1/beach.jpg'] }]).toContainEqual(saved);
        expect(await page.locator('[data-saved] li').allTextContents()).toEqual(Object.keys(saved));
        expect(await problemsOfLooks(page, 'archive-broken')).toEqual([]);
      },
    );
  },
);

/** Every file of the folder that was chosen, by its path. */
function readFolder(page: Page): Promise<Record<string, string>> {
  return page.evaluate(async () => {
    const found: Record<string, string> = {};
    const read = async (folder: FileSystemDirectoryHandle, path: string) => {
      for await (const [name, handle] of folder.entries()) {
        if (handle instanceof FileSystemDirectoryHandle) await read(handle, `${path}${name}/`);
        else found[`${path}${name}`] = await (await (handle as FileSystemFileHandle).getFile()).text();
      }
    };
    const storage = await navigator.storage.getDirectory();
    await read(await storage.getDirectoryHandle('chosen', { create: true }), '');
    return found;
  });
}
