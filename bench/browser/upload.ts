import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { freshFolder } from '@mayfly/testing/stores';
import { buildWebApp } from '@mayfly/web/build';
import { median } from '../src/load.ts';
import { startAll, startStores } from '../src/service.ts';
import { type Chromium, startChromium } from './devtools.ts';

// What encryption costs an upload in Chromium. In turns, a page encrypts and sends a file; sends it as it is, which no script has to touch; and sends what
// it has read of it, part by part, which is the least that a page with bytes of its own can do.
//
//   node bench/browser/upload.ts [MiB]
//
// Figures are for comparing within a run.

const [mib = '200'] = process.argv.slice(2);
const SIZE_BYTES = Number(mib) * 2 ** 20;
const PART_BYTES = 4 * 2 ** 20;
const ROUNDS = 3;

await using stack = new AsyncDisposableStack();
const { path: folder } = stack.use(await freshFolder());
const stores = await startStores(stack, folder);
const settings = { WEB_DIR: (await buildWebApp()).folder, UPLOAD_QUOTA_BYTES: '0', RATE_LIMIT_MAX: '1000000' };
const { url: address } = await startAll(stack, { ...stores, env: { ...stores.env, ...settings } });
const path = join(folder, 'file.bin');
await pipeline(function* () {
  for (let index = 0; index < Number(mib); index += 1) yield Buffer.alloc(2 ** 20, `block ${index}`);
}, createWriteStream(path));

const browser = stack.use(await startChromium(folder));
type Round = Record<`${'plain' | 'read' | 'encrypted'}${'Sec' | 'CpuSec'}` | 'longestPauseMs', number>;
const rounds: Round[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  const [plainSec, plainCpuSec] = await sendPlain(browser);
  const [readSec, readCpuSec] = await sendPlain(browser, PART_BYTES);
  const encrypted = await sendEncrypted(browser);
  if (round > 0) rounds.push({ plainSec, plainCpuSec, readSec, readCpuSec, ...encrypted }); // the first one warms everything
}

console.table(rounds);
const middle = (fact: keyof Round) => median(rounds.map((round) => round[fact]));
for (const [way, seconds, cpuSec] of [
  ['Plain', middle('plainSec'), middle('plainCpuSec')],
  ['Read', middle('readSec'), middle('readCpuSec')],
  ['Encrypted', middle('encryptedSec'), middle('encryptedCpuSec')],
] as const) {
  const [rate, cpuPerGigabyte] = [SIZE_BYTES / 2 ** 20 / seconds, (cpuSec / SIZE_BYTES) * 1e9];
  console.log(`${way}: ${rate.toFixed(0)} MiB/s, ${cpuPerGigabyte.toFixed(2)} CPU s of Chromium per GB`);
}
for (const way of ['plain', 'read'] as const) {
  const ratio = median(rounds.map((round) => round[`${way}Sec`] / round.encryptedSec));
  console.log(`Encrypted at ${ratio.toFixed(2)} of the speed of ${way}`);
}
console.log(`Longest pause of the page: ${Math.max(...rounds.map((round) => round.longestPauseMs)).toFixed(0)} ms`);

/** The same bytes without encryption, as they are or as read in parts. The service cannot tell. */
async function sendPlain({ page, cpuSec }: Chromium, partBytes?: number) {
  await page.goto(address);
  await page.until(`!!document.querySelector('[data-pick=files]')`);
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'plain' }))`,
  );
  await page.choose('#plain', path);
  const before = cpuSec();
  const seconds = Number(await page.evaluate(`(${post})(${partBytes})`)) / 1000;
  return [seconds, cpuSec() - before] as const;
}

/** Runs in the page. */
async function post(partBytes?: number) {
  const file = (document.getElementById('plain') as HTMLInputElement).files?.[0] as File;
  const send = (body: Blob | ArrayBuffer) =>
    new Promise<void>((resolve, reject) => {
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
      xhr.send(body);
    });
  const start = performance.now();
  let at = 0;
  async function sendParts(bytes: number) {
    while (at < file.size) {
      at += bytes;
      await send(await file.slice(at - bytes, at).arrayBuffer());
    }
  }
  if (partBytes)
    await Promise.all(Array.from({ length: 4 }, () => sendParts(partBytes))); // as many as the page has under way
  else await send(file);
  return performance.now() - start;
}

type Seen = { start: number; end: number; longestPauseMs: number };

async function sendEncrypted({ page, cpuSec }: Chromium) {
  await page.goto(address);
  await page.choose('[data-pick=files]', path);
  await page.evaluate(`(${watch})()`);
  const before = cpuSec();
  await page.click('Encrypt and send');
  await page.until('seen.end > 0');
  const { start, end, longestPauseMs } = (await page.evaluate('seen')) as Seen;
  const encryptedCpuSec = cpuSec() - before;
  return { encryptedSec: (end - start) / 1000, encryptedCpuSec, longestPauseMs };
}

/** Runs in the page. */
function watch() {
  const seen: Seen = { start: 0, end: 0, longestPauseMs: 0 };
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    seen.longestPauseMs = Math.max(seen.longestPauseMs, now - last);
    last = now;
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
