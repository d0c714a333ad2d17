import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { freshFolder } from '@mayfly/testing/stores';
import { buildWebApp } from '@mayfly/web/build';
import { chromium, type Page } from 'playwright-core';
import { median } from '../src/load.ts';
import { startAll, startStores } from '../src/service.ts';

// What encryption costs an upload in Chromium: a page encrypts and sends a file, and sends the same file as it is, in turns.
//
//   node bench/browser/upload.ts [MiB]
//
// Figures are for comparing within a run.

const [mib = '200'] = process.argv.slice(2);
const SIZE_BYTES = Number(mib) * 2 ** 20;
const ROUNDS = 3;

await using stack = new AsyncDisposableStack();
const { path: folder } = stack.use(await freshFolder());
const stores = await startStores(stack, folder);
const settings = { WEB_DIR: (await buildWebApp()).folder, UPLOAD_QUOTA_BYTES: '0' };
const { url: address } = await startAll(stack, { ...stores, env: { ...stores.env, ...settings } });
const path = join(folder, 'file.bin');
await pipeline(function* () {
  for (let index = 0; index < Number(mib); index += 1) yield Buffer.alloc(2 ** 20, `block ${index}`);
}, createWriteStream(path));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
const context = await browser.newContext({ locale: 'en' });
const page = await context.newPage();
const rounds: { plainMs: number; encryptedMs: number; encryptingMs: number; longestPauseMs: number }[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  const plainMs = await sendPlain(page);
  const encrypted = await sendEncrypted(page);
  if (round > 0) rounds.push({ plainMs, ...encrypted }); // the first one warms everything
}
await browser.close();

console.table(rounds);
const plainMs = median(rounds.map((round) => round.plainMs));
const encryptedMs = median(rounds.map((round) => round.encryptedMs));
const rate = (ms: number) => `${((SIZE_BYTES / 2 ** 20 / ms) * 1000).toFixed(0)} MiB/s`;
console.log(
  `Plain ${rate(plainMs)}, encrypted ${rate(encryptedMs)}: ${(plainMs / encryptedMs).toFixed(2)} of the plain speed`,
);
console.log(`Longest pause of the page: ${Math.max(...rounds.map((round) => round.longestPauseMs)).toFixed(0)} ms`);

/** The same request without encryption. The service cannot tell. */
async function sendPlain(page: Page): Promise<number> {
  await page.goto(address);
  await page.evaluate(() => {
    const input = Object.assign(document.createElement('input'), { type: 'file', id: 'plain' });
    document.body.append(input);
  });
  await page.setInputFiles('#plain', path);
  return page.evaluate(async () => {
    const file = (document.getElementById('plain') as HTMLInputElement).files?.[0];
    const start = performance.now();
    await new Promise<void>((resolve, reject) => {
      const xhr = new XMLHttpRequest();
      xhr.open('POST', '/api/upload');
      const headers = {
        'x-auth-token': 'A'.repeat(43),
        'x-owner-token': 'A'.repeat(43),
        'x-salt': 'A'.repeat(22),
        'x-max-downloads': '1',
        'x-expire-sec': '300',
        'x-file-count': '1',
        'x-has-password': 'false',
        'content-type': 'application/octet-stream',
      };
      for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
      xhr.onload = () => (xhr.status === 200 ? resolve() : reject(new Error(`${xhr.status} ${xhr.responseText}`)));
      xhr.onerror = () => reject(new Error('the upload failed'));
      xhr.send(file);
    });
    return performance.now() - start;
  });
}

async function sendEncrypted(page: Page) {
  await page.goto(address);
  await page.setInputFiles('[data-pick=files]', path);
  await page.getByLabel('Expires after').selectOption({ index: 0 });
  await page.evaluate(() => {
    const seen = { start: 0, sending: 0, end: 0, longestPauseMs: 0 };
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      seen.longestPauseMs = Math.max(seen.longestPauseMs, now - last);
      last = now;
      if (document.querySelector('h1')?.textContent === 'Sending') seen.sending ||= now;
    }, 5);
    new MutationObserver(() => {
      if (document.getElementById('link')) seen.end ||= performance.now();
    }).observe(document.body, { childList: true, subtree: true });
    document.querySelector('form')?.addEventListener('submit', () => {
      last = seen.start = performance.now();
      seen.longestPauseMs = 0;
    });
    Object.assign(globalThis, { seen });
  });
  await page.getByRole('button', { name: 'Encrypt and send' }).click();
  await page.locator('#link').waitFor({ timeout: 600_000 });
  const { start, sending, end, longestPauseMs } = await page.evaluate(
    () => (globalThis as unknown as { seen: Record<'start' | 'sending' | 'end' | 'longestPauseMs', number> }).seen,
  );
  return { encryptedMs: end - start, encryptingMs: sending - start, longestPauseMs };
}
