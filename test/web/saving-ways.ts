import { readFile } from 'node:fs/promises';
import type { Download, Page } from 'playwright-core';
import { expect } from 'vitest';
import { noPicker, type Prepare } from './browser.ts';
import { inWorker } from './interrupted.ts';

/** A way in which a browser saves a download. */
export type Way = {
  name: string;
  prepare: Prepare;
  /** Has it begun by that, waits for its end, and returns what was saved, or undefined when nothing may have been. */
  save: (page: Page, begin: () => Promise<void>) => Promise<Buffer | undefined>;
  /** Whether another page can continue it where it was. */
  isContinued: boolean;
};

export const click = (page: Page, name = 'Download') => page.getByRole('button', { name, exact: true }).click();

function isSaved(page: Page): Promise<boolean> {
  const shown = (name: string) => page.getByRole('heading', { name }).waitFor();
  return Promise.race([
    shown('Downloaded and verified').then(() => true),
    shown('The download failed').then(() => false),
  ]);
}

/** The browser's dialog cannot be clicked from here. What it would give is a handle like this one, of a real file. */
function pickOpfsFile() {
  Reflect.set(globalThis, 'showSaveFilePicker', async () => {
    const folder = await navigator.storage.getDirectory();
    return folder.getFileHandle('picked', { create: true });
  });
}

/** What an earlier download has left there. */
function removePicked(page: Page): Promise<void> {
  return page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    await folder.removeEntry('picked').catch(() => {}); // there is none
  });
}

export async function readPicked(page: Page): Promise<Buffer | undefined> {
  const bytes = await page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    const names = await Array.fromAsync(folder.keys());
    if (!names.includes('picked')) return undefined;
    const file = await (await folder.getFileHandle('picked')).getFile();
    return new Uint8Array(await file.arrayBuffer()).toBase64();
  });
  return bytes === undefined ? undefined : Buffer.from(bytes, 'base64');
}

async function fromList(page: Page, begin: () => Promise<void>): Promise<Buffer | undefined> {
  const downloads: Promise<Buffer | undefined>[] = [];
  const onDownload = (download: Download) =>
    void downloads.push(
      download.failure().then(async (failure) => (failure ? undefined : readFile(await download.path()))),
    );
  page.on('download', onDownload);
  await begin();
  const saved = await isSaved(page);
  if (saved && downloads.length === 0) await page.waitForEvent('download'); // the page is told before the list is
  page.off('download', onDownload);
  const [found, ...others] = await Promise.all(downloads);
  expect(others).toEqual([]);
  return found;
}

export const PICKED: Way = {
  name: 'a file that the person picks',
  prepare: (context) => context.addInitScript(pickOpfsFile),
  async save(page, begin) {
    await removePicked(page);
    await begin();
    await isSaved(page);
    return readPicked(page);
  },
  isContinued: false,
};

const THROUGH_SERVICE_WORKER: Way = {
  name: 'a download through the service worker',
  prepare: noPicker,
  save: fromList,
  isContinued: false,
};

export const STORAGE: Way = {
  name: "the browser's own storage",
  prepare: (context) =>
    context.addInitScript(() => {
      Reflect.deleteProperty(globalThis, 'showSaveFilePicker');
      Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: () => undefined });
    }),
  save: fromList,
  isContinued: true,
};

export const IN_MEMORY: Way = {
  name: "the browser's memory",
  async prepare(context) {
    await STORAGE.prepare(context);
    await inWorker(
      "Object.defineProperty(StorageManager.prototype,'getDirectory',{value:()=>{throw new Error('off')}})",
    )(context);
  },
  save: fromList,
  isContinued: false,
};

export const SAVED_WAYS = [PICKED, THROUGH_SERVICE_WORKER, STORAGE];
