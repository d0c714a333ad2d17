import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningShape, SHAPES } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { startWebService } from './web-service.ts';

describe.skipIf(!CHROMIUM).each(SHAPES)('files in a browser (%s; needs Chromium, else skipped)', (shape) => {
  let service: RunningShape;
  let browser: Browser;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService(shape), startBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  test('what one page sends, another page receives', async () => {
    const content = Buffer.from('a canary in a file '.repeat(20_000));
    await using sender = await openPage(browser);
    await sender.page.goto(service.baseUrl);
    await sender.page.setInputFiles('[data-pick=files]', {
      name: 'canary.txt',
      mimeType: 'text/plain',
      buffer: content,
    });
    await sender.page.getByRole('button', { name: 'Encrypt and send' }).click();
    const link = await sender.page.getByRole('textbox', { name: 'Link', exact: true }).inputValue();

    await using receiver = await openPage(browser, {}, (context) =>
      context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker')),
    );
    await receiver.page.goto(link);
    await receiver.page.getByText('canary.txt').waitFor();
    const [download] = await Promise.all([
      receiver.page.waitForEvent('download'),
      receiver.page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('canary.txt');
    expect(await readFile(await download.path())).toEqual(content);
    await receiver.page.getByRole('heading', { name: 'Saved, whole and unchanged' }).waitFor();
    expect([...sender.faults, ...receiver.faults]).toEqual([]);
  });
});
