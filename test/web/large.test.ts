import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { freshFolder } from '@mayfly/testing/stores';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { noPicker, openPersistentPage } from './browser.ts';
import { watchMemory } from './browser-memory.ts';
import { describeWeb } from './describe-web.ts';

/** Another size: WEB_TEST_MIB=2048 npm test -- test/web/large */
const SIZE_BYTES = Number(process.env.WEB_TEST_MIB || 100) * 2 ** 20;
const BLOCK_BYTES = 2 ** 20;
/** What a browser takes for itself while it works, whatever the size. */
const MOST_BYTES = 400 * 2 ** 20;
const PATIENCE_MS = 60_000 + SIZE_BYTES / 2_000;

/** Other bytes in every block, so that a lost or repeated one is found. */
function block(index: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(BLOCK_BYTES).fill(index % 251);
  new DataView(bytes.buffer).setUint32(0, index);
  return bytes;
}

function source() {
  let index = 0;
  const stream = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        if (index * BLOCK_BYTES === SIZE_BYTES) controller.close();
        else controller.enqueue(block(index++));
      },
    });
  return { name: 'large.bin', size: SIZE_BYTES, stream };
}

function expectedHash(): string {
  const hash = createHash('sha256');
  for (let index = 0; index * BLOCK_BYTES < SIZE_BYTES; index += 1) hash.update(block(index));
  return hash.digest('hex');
}

const noWorker = async (context: BrowserContext) => {
  await noPicker(context);
  await context.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: () => undefined });
  });
};

describeWeb('a large download', { shapes: ['all'], settings: { MAX_FILE_SIZE: '8GiB' } }, (web) => {
  async function downloadOnce(page: Page): Promise<string> {
    const { link } = await web.client.uploadFiles([source()], { expireSec: 3600, maxDownloads: 1 });
    await page.goto(link);
    await page.getByText('large.bin').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download', { timeout: PATIENCE_MS }),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    await page.getByRole('heading', { name: 'Downloaded and verified' }).waitFor({ timeout: PATIENCE_MS });
    const hash = createHash('sha256');
    await pipeline(createReadStream(await download.path()), hash);
    return hash.digest('hex');
  }

  test.skipIf(process.platform !== 'linux').each([
    { way: 'the service worker', prepare: noPicker },
    { way: "the browser's own storage", prepare: noWorker },
  ])(
    'goes to the disk through $way, whole, and memory stays the same',
    async ({ way, prepare }) => {
      await using profile = await freshFolder();
      await using page = await openPersistentPage(profile.path, prepare);
      await page.goto(web.baseUrl);
      const browser = page.context().browser();
      if (!browser) throw new Error('the context has no browser');
      const memory = await watchMemory(browser);
      expect(await downloadOnce(page)).toBe(expectedHash());
      const peakBytes = await memory.stop();
      const [mib, peakMib] = [SIZE_BYTES, peakBytes].map((bytes) => Math.round(bytes / 2 ** 20));
      console.log(`${mib} MiB through ${way}: the browser took ${peakMib} MiB more at most`);
      expect(peakBytes).toBeLessThan(MOST_BYTES);
    },
    2 * PATIENCE_MS,
  );
});
