import { resolve } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import { buildWebApp } from '@mayfly/web/build';
import { type Browser, chromium } from 'playwright-core';
import { median } from '../src/load.ts';
import { startAll, startStores } from '../src/service.ts';

// What a first visit to the first page costs on a slow phone: a link of 1.6 Mbit/s with 150 ms, and a processor slowed down four times, both
// as Chromium simulates them. With the folder of another built web app both are visited in turns.
//
//   node bench/browser/first-load.ts [DIR]
//
// Figures are for comparing within a run.

const ROUNDS = Number(process.env.ROUNDS ?? 7);
const LINK = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const SLOWER = 4;
const PHONE = { width: 390, height: 844 };

type Visit = {
  fcpMs: number;
  usableMs: number;
  shift: number;
  longestTaskMs: number;
  blockedMs: number;
  bytes: number;
};
type Seen = { usableMs: number; shift: number; tasksMs: number[] };

await using stack = new AsyncDisposableStack();
const { path: folder } = stack.use(await freshFolder());
const stores = await startStores(stack, folder);
const folders = { ...(process.argv[2] && { other: resolve(process.argv[2]) }), this: (await buildWebApp()).folder };
const addresses: [string, string][] = [];
for (const [name, WEB_DIR] of Object.entries(folders)) {
  const { url } = await startAll(stack, { ...stores, env: { ...stores.env, WEB_DIR } });
  addresses.push([name, url]);
}
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
const visits = new Map<string, Visit[]>(addresses.map(([name]) => [name, []]));
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [name, url] of round % 2 ? addresses.toReversed() : addresses) {
    const visit = await visitOnce(browser, url);
    if (round > 0) visits.get(name)?.push(visit); // the first one warms everything
  }
}
await browser.close();
const facts: (keyof Visit)[] = ['fcpMs', 'usableMs', 'shift', 'longestTaskMs', 'blockedMs', 'bytes'];
console.table(
  Object.fromEntries(
    [...visits].map(([name, all]) => [
      name,
      Object.fromEntries(facts.map((fact) => [fact, Number(median(all.map((visit) => visit[fact])).toPrecision(4))])),
    ]),
  ),
);

async function visitOnce(browser: Browser, url: string): Promise<Visit> {
  const context = await browser.newContext({ locale: 'en', viewport: PHONE, isMobile: true, deviceScaleFactor: 2 });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', LINK);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  await page.addInitScript(watch);
  await page.goto(url);
  await page.waitForFunction(() => (globalThis as unknown as { seen: Seen }).seen.usableMs > 0);
  await page.waitForLoadState('networkidle');
  const [seen, fcpMs] = await page.evaluate(() => [
    (globalThis as unknown as { seen: Seen }).seen,
    performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
  ]);
  await context.close();
  const { usableMs, shift, tasksMs } = seen;
  const blockedMs = tasksMs.reduce((sum, ms) => sum + ms - 50, 0);
  return { fcpMs, usableMs, shift, longestTaskMs: Math.max(0, ...tasksMs), blockedMs, bytes };
}

/** Runs in the page. It is usable when files can be chosen. */
function watch() {
  const seen: Seen = { usableMs: 0, shift: 0, tasksMs: [] };
  Object.assign(globalThis, { seen });
  const observe = (
    type: string,
    take: (entry: PerformanceEntry & { value: number; hadRecentInput: boolean }) => void,
  ) =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) take(entry as Parameters<typeof take>[0]);
    }).observe({ type, buffered: true });
  observe('layout-shift', ({ value, hadRecentInput }) => {
    if (!hadRecentInput) seen.shift += value;
  });
  observe('longtask', ({ duration }) => seen.tasksMs.push(duration));
  new MutationObserver((_, observer) => {
    if (!document.querySelector('[data-pick=files]')) return;
    seen.usableMs = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
}
