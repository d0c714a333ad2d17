import { randomBytes } from 'node:crypto';
import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { inSuite } from '@mayfly/testing/in-suite';
import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import type { BrowserContext, Page } from 'playwright-core';
import { beforeEach } from 'vitest';
import type { Web } from './describe-web.ts';
import { click } from './saving-ways.ts';

const CONTENT = randomBytes(8_000_000);
/** It is on its way for a few seconds, unless it is told to go on. */
const SLOW_BYTES_PER_SEC = 1_500_000;
/** What remains would take an hour. */
const HALTED_BYTES_PER_SEC = 1_000;

/** Files that are large enough to be interrupted on their way to a browser, and a proxy that does it. */
export function interruptibleDownloads(web: Web) {
  const proxy = inSuite(() => openTamperingProxy(web.baseUrl));
  const unlimited = () => {
    proxy().mend();
    proxy().tampering = { kind: 'none' };
    proxy().downloadBytesPerSec = Number.POSITIVE_INFINITY;
  };
  beforeEach(unlimited);

  return {
    content: CONTENT,
    get proxy() {
      return proxy();
    },
    unlimited,

    /** A link to it, through the proxy. */
    async send({ maxDownloads = 3, files = [new File([CONTENT], 'large.bin')], ...options }: Sending = {}) {
      const client = new MayflyClient({ baseUrl: proxy().url, transport: nodeTransport() });
      return (await client.uploadFiles(files, { expireSec: 3600, maxDownloads, ...options })).link;
    },

    /** Clicks, and waits until more than that much of it has come. What remains does not come. */
    async begin(page: Page, { share = 0.3, button = 'Download' } = {}) {
      proxy().downloadBytesPerSec = SLOW_BYTES_PER_SEC;
      await click(page, button);
      await page.waitForFunction((least) => (document.querySelector('progress')?.value ?? 0) > least, share);
      proxy().downloadBytesPerSec = HALTED_BYTES_PER_SEC;
    },

    /** How often a link was used; undefined when it cannot be used any more. */
    async countOf(link: string): Promise<number | undefined> {
      const info = await web.client.getInfo(link).catch(() => undefined);
      return info?.downloadCount;
    },
  };
}

type Sending = { maxDownloads?: number; files?: File[]; password?: string };

/** The leases under which a browser has downloaded. */
export function leasesIn(requests: string[]): Set<string | undefined> {
  const downloads = requests.filter((request) => /^GET \S+\/api\/(lease|download)\//.test(request));
  return new Set(downloads.map((request) => /"x-download-lease":"([\w-]{43})"/.exec(request)?.[1]));
}

/** The first byte of every range that a browser has asked for. */
export function rangesIn(requests: string[]): number[] {
  const downloads = requests.filter((request) => /^GET \S+\/api\/lease\/[^/\s]+\n/.test(request));
  return downloads.map((request) => Number(/"range":"bytes=(\d+)-/.exec(request)?.[1] ?? 0));
}

type Kept = { storedBytes: number; hasBegun: boolean };

/** What the browser has kept of downloads for another page. */
export function keptDownloads(page: Page): Promise<Kept[]> {
  return page.evaluate(async () => {
    const request = indexedDB.open('mayfly-downloads', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('downloads');
    await new Promise((resolve) => {
      request.onsuccess = resolve;
    });
    const all = request.result.transaction('downloads').objectStore('downloads').getAll();
    await new Promise((resolve) => {
      all.onsuccess = resolve;
    });
    request.result.close();
    return all.result as Kept[];
  });
}

/** Files of downloads in the browser's own storage. */
export function storedFiles(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const names = await Array.fromAsync((await navigator.storage.getDirectory()).keys());
    return names.filter((name) => name.startsWith('mayfly-'));
  });
}

/** Leaves it whatever the page asks. */
export async function reload(page: Page) {
  page.once('dialog', (dialog) => void dialog.accept());
  await page.reload();
}

/** Another page of that browser, after this one has crashed. */
export async function crash(context: BrowserContext, page: Page): Promise<Page> {
  const session = await context.newCDPSession(page);
  const crashed = page.waitForEvent('crash');
  void session.send('Page.crash').catch(() => {}); // nobody is there to answer
  await crashed;
  return context.newPage();
}
