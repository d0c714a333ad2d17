import { createWriteStream, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyClient } from '@mayfly/client';
import { fileSource, nodeTransport } from '@mayfly/client/node';
import { forgetPeak, ownMemoryBytes, peakMemoryBytes } from '@mayfly/testing/proc';
import { freshFolder } from '@mayfly/testing/stores';
import { buildWebApp } from '@mayfly/web/build';
import { startAll, startStores } from '../src/service.ts';
import { type Chromium, startChromium } from './devtools.ts';

// What memory Chromium and the service take while a page sends a file, and while one receives it in each way that streams, for
// each of these sizes (Linux only).
//
//   node bench/browser/memory.ts [MiB...]

const MIB = 2 ** 20;
const given = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : [256, 4096];
const noPicker = 'Reflect.deleteProperty(globalThis, "showSaveFilePicker");';
const noWorker = 'Object.defineProperty(Navigator.prototype, "serviceWorker", { get: () => undefined });';
/** Nobody is there to choose a file: it lies in the browser's own storage, behind the same kind of handle. */
const ownFile = `globalThis.showSaveFilePicker = async () =>
  (await navigator.storage.getDirectory()).getFileHandle('picked.bin', { create: true });`;
const WAYS = {
  'sends it': '',
  'saves through a worker': noPicker,
  'saves through storage': `${noPicker}${noWorker}`,
  'saves into a picked file': ownFile,
};

await using stack = new AsyncDisposableStack();
const { path: folder } = stack.use(await freshFolder());
const stores = await startStores(stack, folder);
const limits = { MAX_FILE_SIZE: `${2 * Math.max(...sizes)}MiB`, UPLOAD_QUOTA_BYTES: '0' };
const env = { ...stores.env, ...limits, WEB_DIR: (await buildWebApp()).folder };
const { url, processes } = await startAll(stack, { ...stores, env });
const path = join(folder, 'file.bin');
for (const sizeMiB of sizes) {
  await pipeline(function* () {
    for (let index = 0; index < sizeMiB; index += 1) yield Buffer.alloc(MIB, `block ${index}`);
  }, createWriteStream(path));
  for (const [way, script] of Object.entries(WAYS)) await measure(way, script, sizeMiB);
  rmSync(path);
}

async function measure(way: string, script: string, sizeMiB: number) {
  const link = script ? await sendFromHere() : undefined;
  await using downloads = await freshFolder();
  await using browser = await startChromium(downloads.path);
  const { page } = browser;
  await page.prepare(script);
  await page.goto(link ?? url);
  if (link) await page.until(`document.body?.textContent.includes('file.bin')`);
  else await page.choose('[data-pick=files]', path);
  await sleep(1_000); // what has only just been drawn is put away
  const before = await memoryOf(browser);
  for (const pid of Object.values(processes)) forgetPeak(pid);
  const began = performance.now();
  await page.click(link ? 'Download' : 'Encrypt and send');
  const done = link
    ? `document.body.textContent.includes('Downloaded and verified')`
    : `!!document.querySelector('#link')`;
  let [peak, isOver] = [before, false];
  const over = page.until(done).finally(() => {
    isOver = true;
  });
  for (; !isOver; await sleep(100)) peak = Math.max(peak, await memoryOf(browser));
  await over;
  const seconds = (performance.now() - began) / 1000;
  if (link) {
    const isWorker = await page.evaluate(`!!document.querySelector('iframe[src^="/handover/"]')`);
    if (isWorker !== (script === noPicker)) throw new Error('the page has saved it in another way than was meant');
    if (script !== ownFile) await untilSaved(downloads.path, sizeMiB * MIB);
  }
  console.table({
    [`${sizeMiB} MiB, a page ${way}`]: {
      'MiB/s': Math.round(sizeMiB / seconds),
      'browser before, MB': Math.round(before / 1e6),
      'at most, MB': Math.round(peak / 1e6),
      'service at most, MB': Math.round(peakMemoryBytes(processes.all) / 1e6),
    },
  });
}

async function memoryOf(browser: Chromium): Promise<number> {
  return (await browser.pids()).reduce((sum, pid) => sum + ownMemoryBytes(pid), 0);
}

async function sendFromHere(): Promise<string> {
  const client = new MayflyClient({ baseUrl: url, transport: nodeTransport() });
  const { expireOptionsSec } = await client.getConfig();
  const { link } = await client.uploadFiles([await fileSource(path)], {
    expireSec: Math.max(...expireOptionsSec),
    maxDownloads: 1,
  });
  return link;
}

/** The page has given everything to the browser, which may not have written all of it yet: from its storage it copies it. */
async function untilSaved(downloads: string, sizeBytes: number) {
  for (let tries = 0; tries < 1_000; tries += 1, await sleep(100)) {
    if (readdirSync(downloads).some((name) => statSync(join(downloads, name)).size === sizeBytes)) return;
  }
  throw new Error('the browser has not saved it');
}
