import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

/** The page's own; these tests are checked without the DOM's types. */
declare const XMLHttpRequest: new () => {
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  send(body: Blob): void;
  onload: () => void;
  onerror: () => void;
  status: number;
  responseText: string;
};

const PROGRAM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];

describeEachShape('a browser', { MAX_FILE_SIZE: '1000000' }, (service) => {
  let browser: Browser;
  beforeAll(async () => {
    if (PROGRAM) browser = await chromium.launch({ executablePath: PROGRAM, args: FLAGS });
  });
  afterAll(() => browser?.close());

  test.skipIf(!PROGRAM).each(['fetch', 'XMLHttpRequest'])(
    'sees the 413 of an upload that is too large, sent with %s (needs Chromium, else skipped)',
    async (how) => {
      const page = await browser.newPage({ bypassCSP: true });
      await page.goto(`${service.api.baseUrl}/api/config`); // any address of the same origin; it lets no script send anything, hence bypassCSP
      const headers = uploadHeaders({ authToken: token(), ownerToken: token() });
      const answer = await page.evaluate(
        async ({ how, headers }) => {
          const body = new Blob([new Uint8Array(50_000_000)]);
          if (how === 'fetch') {
            const response = await fetch('/api/upload', { method: 'POST', headers, body });
            return { status: response.status, body: await response.json() };
          }
          return new Promise<{ status: number; body: unknown }>((resolve, reject) => {
            const request = new XMLHttpRequest();
            request.open('POST', '/api/upload');
            for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
            request.onload = () => resolve({ status: request.status, body: JSON.parse(request.responseText) });
            request.onerror = () => reject(new Error('the browser saw a network error'));
            request.send(body);
          });
        },
        { how, headers },
      );
      expect(answer).toEqual({ status: 413, body: { error: 'File size exceeds maximum allowed size' } });
      await page.close();
    },
  );

  test('other than a browser sees it as well', async () => {
    const tooLarge = Buffer.alloc(2_000_000);
    const answer = await service.api.upload(tooLarge, uploadHeaders({ authToken: token(), ownerToken: token() }));
    expect(answer.status).toBe(413);
  });
});
