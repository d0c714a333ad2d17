import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inSuite } from '@mayfly/testing/in-suite';
import { freshFolder } from '@mayfly/testing/stores';
import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import type { Prepare } from './browser.ts';
import type { Web } from './describe-web.ts';
import { shownLink } from './sending.ts';

/** For `describeWeb`: what `shortParts` needs. */
export const SHORT_PARTS = { UPLOAD_PART_BYTES_MIN: '65536' };
/** Encrypted: three segments and what is around them. */
const PART_BYTES = 200_000;
const PARTS = 7;
const CONTENT = randomBytes(PARTS * 3 * 65_536);
/** It is on its way for a second or two, unless it is told to go on. */
const SLOW_BYTES_PER_SEC = 400_000;

/** Uploads come in short parts. The service takes them, but no page cuts that short unless it is told that none may be longer. */
export const shortParts: Prepare = (context) =>
  context.route('**/api/config', async (route) => {
    const answer = await route.fetch();
    const config = (await answer.json()) as { uploadParts: { maxBytes: number } };
    await route.fulfill({
      response: answer,
      json: { ...config, uploadParts: { ...config.uploadParts, maxBytes: PART_BYTES } },
    });
  });

/** Code that runs in a page's worker before its own. */
export const inWorker =
  (code: string): Prepare =>
  (context: BrowserContext) =>
    context.route('**/assets/worker-*.js', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: `${code};${await answer.text()}` });
    });

/** A file that is large enough to be interrupted on its way to the service, and a proxy that does it. */
export function interruptible(web: Web) {
  const proxy = inSuite(() => openTamperingProxy(web.baseUrl));
  const folder = inSuite(freshFolder);
  const path = () => join(folder().path, 'large.bin');
  beforeAll(() => writeFile(path(), CONTENT));
  const unlimited = () => {
    proxy().uploadBytesPerSec = Number.POSITIVE_INFINITY;
  };

  const slowly = () => {
    proxy().uploadBytesPerSec = SLOW_BYTES_PER_SEC;
  };

  /** Has a page send what was chosen, slowly. */
  async function beginSlowly(page: Page) {
    slowly();
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
  }

  return {
    content: CONTENT,
    /** How many parts it is sent in by a page that makes them short. */
    parts: PARTS,
    get proxy() {
      return proxy();
    },
    /** Where the file is. */
    get path() {
      return path();
    },
    unlimited,
    slowly,
    beginSlowly,

    /** The service cannot be reached until the proxy is mended; then everything is fast. */
    cut() {
      proxy().cut();
      unlimited();
    },

    async choose(page: Page) {
      unlimited();
      await page.goto(proxy().url);
      await page.setInputFiles('[data-pick=files]', path());
    },

    /** The same in parts, until more than that much of it is stored. What remains would take minutes. */
    async beginParts(page: Page, { share = 0.1 } = {}) {
      await beginSlowly(page);
      await page.waitForFunction((least) => (document.querySelector('progress')?.value ?? 0) > least, share);
      proxy().uploadBytesPerSec = 2_000;
    },

    /** The page shows a link, and what is behind it is the file, of which nobody has had a download yet. */
    async expectArrived(page: Page) {
      const link = await shownLink(page);
      expect((await web.client.getInfo(link)).downloadCount).toBe(0);
      const { payload } = await web.client.download(link);
      expect(Buffer.from(await new Response(payload).arrayBuffer()).equals(CONTENT)).toBe(true);
    },

    /** For what is stored from now on. What an earlier test has left may go meanwhile. */
    async stored() {
      const before = await web.running.blobs.names();
      return async () => (await web.running.blobs.names()).filter((name) => !before.includes(name));
    },
  };
}
