import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { freshFolder } from '@mayfly/testing/stores';
import { buildWebApp } from '@mayfly/web/build';
import { median } from '../src/load.ts';
import { startAll, startStores } from '../src/service.ts';
import { type Chromium, startChromium } from './devtools.ts';

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

const browser = stack.use(await startChromium(folder));
const rounds: (Awaited<ReturnType<typeof sendPlain>> & Awaited<ReturnType<typeof sendEncrypted>>)[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  const plain = await sendPlain(browser);
  const encrypted = await sendEncrypted(browser);
  if (round > 0) rounds.push({ ...plain, ...encrypted }); // the first one warms everything
}

console.table(rounds);
const middle = (fact: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[fact]));
for (const [way, seconds, cpuSec] of [
  ['Plain', middle('plainSec'), middle('plainCpuSec')],
  ['Encrypted', middle('encryptedSec'), middle('encryptedCpuSec')],
] as const) {
  const [rate, cpuPerGigabyte] = [SIZE_BYTES / 2 ** 20 / seconds, (cpuSec / SIZE_BYTES) * 1e9];
  console.log(`${way}: ${rate.toFixed(0)} MiB/s, ${cpuPerGigabyte.toFixed(2)} CPU s of Chromium per GB`);
}
console.log(`Encrypted at ${(middle('plainSec') / middle('encryptedSec')).toFixed(2)} of the plain speed`);
console.log(`Longest pause of the page: ${Math.max(...rounds.map((round) => round.longestPauseMs)).toFixed(0)} ms`);

/** The same request without encryption. The service cannot tell. */
async function sendPlain({ page, cpuSec }: Chromium) {
  await page.goto(address);
  await page.until(`!!document.querySelector('[data-pick=files]')`);
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'plain' }))`,
  );
  await page.choose('#plain', path);
  const before = cpuSec();
  const plainSec = Number(await page.evaluate(`(${post})()`)) / 1000;
  return { plainSec, plainCpuSec: cpuSec() - before };
}

/** Runs in the page. */
async function post() {
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
}

type Seen = { start: number; sending: number; end: number; longestPauseMs: number };

async function sendEncrypted({ page, cpuSec }: Chromium) {
  await page.goto(address);
  await page.choose('[data-pick=files]', path);
  await page.evaluate(`(${watch})()`);
  const before = cpuSec();
  await page.click('Encrypt and send');
  await page.until('seen.end > 0');
  const { start, sending, end, longestPauseMs } = (await page.evaluate('seen')) as Seen;
  const encryptedCpuSec = cpuSec() - before;
  return { encryptedSec: (end - start) / 1000, encryptedCpuSec, encryptingMs: sending - start, longestPauseMs };
}

/** Runs in the page. */
function watch() {
  const seen: Seen = { start: 0, sending: 0, end: 0, longestPauseMs: 0 };
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
}
