import { createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownMemoryBytes, peakMemoryBytes } from '@mayfly/testing/proc';
import { freshFolder } from '@mayfly/testing/stores';
import { buildWebApp } from '@mayfly/web/build';
import { chromium } from 'playwright-core';
import { startAll, startStores } from '../src/service.ts';

// What memory Chromium and the service take while a page sends a file, for each of these sizes (Linux only).
//
//   node bench/browser/memory.ts [MiB...]

const MIB = 2 ** 20;
const given = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : [256, 4096];

await using stack = new AsyncDisposableStack();
const { path: folder } = stack.use(await freshFolder());
const stores = await startStores(stack, folder);
const limits = { MAX_FILE_SIZE: `${2 * Math.max(...sizes)}MiB`, UPLOAD_QUOTA_BYTES: '0' };
const env = { ...stores.env, ...limits, WEB_DIR: (await buildWebApp()).folder };
const { url, processes } = await startAll(stack, { ...stores, env });
const path = join(folder, 'file.bin');
const rows = [];
for (const sizeMiB of sizes) {
  await pipeline(function* () {
    for (let index = 0; index < sizeMiB; index += 1) yield Buffer.alloc(MIB, `block ${index}`);
  }, createWriteStream(path));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  const page = await browser.newPage({ locale: 'en' });
  await page.goto(url);
  await page.setInputFiles('[data-pick=files]', path);
  const session = await browser.newBrowserCDPSession();
  const now = async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((sum, { id }) => sum + ownMemoryBytes(id), 0);
  };
  const [before, began] = [await now(), performance.now()];
  const sent = page.locator('#link').waitFor({ timeout: 1_800_000 });
  await page.getByRole('button', { name: 'Encrypt and send' }).click();
  let [peak, isOver] = [before, false];
  const over = sent.finally(() => {
    isOver = true;
  });
  for (; !isOver; await sleep(100)) peak = Math.max(peak, await now());
  await over;
  const seconds = (performance.now() - began) / 1000;
  await browser.close();
  rmSync(path);
  rows.push({
    sizeMiB,
    'MiB/s': Math.round(sizeMiB / seconds),
    'browser before, MB': Math.round(before / 1e6),
    'at most, MB': Math.round(peak / 1e6),
    'service at most, MB': Math.round(peakMemoryBytes(processes.all) / 1e6),
  });
}
console.table(rows);
