import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { inSuite } from '@mayfly/testing/in-suite';
import { serve } from '@mayfly/testing/listen';
import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { blackPng, png, wav, webm } from './media.ts';
import { button, closePreview } from './preview-dialog.ts';

const KIB = 1024;
const bytes = (count: number) => Buffer.from(randomBytes(count));
type Sent = { name: string; type?: string; content: Buffer<ArrayBuffer> | string };

/** Every address of an object that the page has made and not ended; and all types that one was made for. */
const watchObjectUrls = () => {
  const live = new Set<string>();
  const types = new Set<string>();
  Object.assign(globalThis, { objectUrls: { live, types } });
  const { createObjectURL, revokeObjectURL } = URL;
  URL.createObjectURL = (object) => {
    const url = createObjectURL.call(URL, object);
    live.add(url);
    if (object instanceof Blob) types.add(object.type);
    return url;
  };
  URL.revokeObjectURL = (url) => {
    live.delete(url);
    revokeObjectURL.call(URL, url);
  };
};
const objectUrls = (page: Page, what: 'live' | 'types') =>
  page.evaluate(
    (name) => [...((Reflect.get(globalThis, 'objectUrls') as Record<string, Set<string>>)[name] ?? [])],
    what,
  );

const shown = (page: Page) => page.locator('dialog [data-shown]');

/** Clicks, and returns what came into the browser's list of downloads. */
async function saveBy(button: Locator): Promise<Buffer> {
  const [download] = await Promise.all([button.page().waitForEvent('download'), button.click()]);
  return readFile(await download.path());
}

const save = (page: Page, name: string) => saveBy(button(page, name));

describeWeb('files of an upload, previewed and saved one by one', { shapes: ['all'] }, (web) => {
  const proxy = inSuite(() => openTamperingProxy(web.baseUrl));
  const client = () => new MayflyClient({ baseUrl: proxy().url, transport: nodeTransport() });

  function send(files: Sent[], maxDownloads = 5) {
    const sources = files.map(({ name, type = '', content }) => new File([content], name, { type }));
    return client().uploadFiles(sources, { expireSec: 3600, maxDownloads });
  }

  const visit = (link: string) =>
    web.visit(link, {}, async (context) => {
      await noPicker(context);
      await context.addInitScript(watchObjectUrls);
    });

  test('one of several files is saved, and only its bytes travel', async () => {
    const wanted = bytes(300 * KIB);
    const files = [
      { name: 'before.bin', content: bytes(3_000 * KIB) },
      { name: 'deep/in it/wanted.bin', content: wanted },
      { name: 'behind.bin', content: bytes(3_000 * KIB) },
    ];
    const created = await send(files);
    await using page = await visit(created.link);
    await page.getByText('The first file that you preview or save by itself uses one download.').waitFor();
    await page.getByText('included for 1 hour').waitFor();
    const before = proxy().downloadedBytes;
    expect((await save(page, 'Save wanted.bin')).equals(wanted)).toBe(true);
    await page.getByText('“wanted.bin” has been saved and verified.').waitFor();
    expect(proxy().downloadedBytes - before).toBeLessThan(wanted.length + 256 * KIB);
    expect((await client().getUsage(created)).usedCount).toBe(1);
    await page.getByText('4 of 5').waitFor();
  });

  test('previewing two files and saving a third is one download, and nothing of a preview stays', async () => {
    const sound = wav(3);
    const files = [
      { name: 'trip/beach.png', type: 'image/png', content: png(900, 600) },
      { name: 'trip/waves.wav', type: 'audio/wav', content: sound },
      { name: 'trip/list.txt', type: 'text/plain', content: 'sun\nsea\nGrüße' },
      { name: 'trip/paper.zip', type: 'application/zip', content: 'PK' },
    ];
    const created = await send(files);
    await using page = await visit(created.link);
    await button(page, 'Preview beach.png').waitFor();
    expect(await problemsOfLooks(page, 'previews-list')).toEqual([]);
    expect(await button(page, 'Preview paper.zip').count()).toBe(0);
    await button(page, 'Preview beach.png').click();
    const image = shown(page).getByRole('img', { name: 'beach.png' });
    await image.waitFor();
    expect(await image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(900);
    expect(await problemsOfLooks(page, 'preview-image')).toEqual([]);
    expect(await objectUrls(page, 'live')).toHaveLength(1);
    await closePreview(page);
    expect(await objectUrls(page, 'live')).toEqual([]);
    await page.getByText('One download has been used.').waitFor();
    expect(await problemsOfLooks(page, 'previews-included')).toEqual([]);
    await button(page, 'Preview waves.wav').click();
    await page.waitForFunction(
      () => (document.querySelector('audio')?.readyState ?? 0) >= HTMLMediaElement.HAVE_METADATA,
    );
    expect(await page.evaluate(() => document.querySelector('audio')?.duration)).toBe(3);
    expect(await problemsOfLooks(page, 'preview-audio')).toEqual([]);
    await closePreview(page);
    expect(await objectUrls(page, 'live')).toEqual([]);
    expect((await save(page, 'Save list.txt')).toString()).toBe('sun\nsea\nGrüße');
    await page.getByText('“list.txt” has been saved').waitFor();
    await page.getByText('4 of 5').waitFor();
    expect((await client().getUsage(created)).usedCount).toBe(1);
    // All of it, too, is included.
    const whole = await save(page, 'Download');
    expect(whole.includes(sound)).toBe(true);
    expect((await client().getUsage(created)).usedCount).toBe(1);
  });

  test('the last download is enough for all of it, while others find nothing left', async () => {
    const created = await send([{ name: 'film.webm', type: 'video/webm', content: await film() }], 1);
    await using page = await visit(created.link);
    await page.getByText('A preview uses one download, too.').waitFor();
    await button(page, 'Preview').click();
    await page.waitForFunction(() => (document.querySelector('video')?.videoWidth ?? 0) === 320);
    expect(await problemsOfLooks(page, 'preview-video')).toEqual([]);
    // What is there need not travel again.
    const before = proxy().downloadedBytes;
    expect(
      (await saveBy(page.locator('dialog').getByRole('button', { name: 'Save', exact: true }))).equals(await film()),
    ).toBe(true);
    await page.getByText('Downloaded and verified').waitFor();
    expect(proxy().downloadedBytes).toBe(before);
    await closePreview(page);
    await page.getByText('0 of 1').waitFor();
    await expect(client().getInfo(created.link)).rejects.toMatchObject({ code: 'used-up' });
    expect((await save(page, 'Download')).equals(await film())).toBe(true);
  });

  let filmed: Promise<Buffer<ArrayBuffer>> | undefined;
  const film = () => {
    filmed ??= (async () => {
      await using page = await web.visit(web.baseUrl);
      return await webm(page);
    })();
    return filmed;
  };

  test('whatever a file says it is, no script of it runs and no request leaves', async () => {
    const asked: string[] = [];
    await using elsewhere = await serve(({ url = '' }, answer) => {
      asked.push(url);
      answer.end();
    });
    const address = elsewhere.url;
    const markup = `<script>globalThis.hasRun = true; fetch('${address}/script')</script><img src="${address}/img" onerror="globalThis.hasRun = true"><meta http-equiv="refresh" content="0;url=${address}/refresh"><link rel="stylesheet" href="${address}/css">`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.hasRun = true"><script>globalThis.hasRun = true</script><image href="${address}/svg"/></svg>`;
    const texts: Record<string, string> = {
      'notes.txt': markup,
      'page.html': `<!doctype html>${markup}`,
      'drawing.svg': svg,
      'link.md': `[here](${address}/markdown) ![image](${address}/image)`,
    };
    const noMedia: Record<string, string> = {
      'photo.png': markup,
      'photo.jpg': svg,
      'broken.png': `\x89PNG\r\n\x1a\n${markup}`,
      'both.gif': `GIF89a=1;globalThis.hasRun = true;/*${markup}*/`,
      'stream.mp4': `#EXTM3U\n#EXTINF:1,\n${address}/playlist.ts\n`,
      'song.mp3': `<smil><audio src="${address}/smil"/></smil>`,
    };
    const both = { name: 'picture and page.png', content: Buffer.concat([png(60, 40), Buffer.from(markup)]) };
    const others = Object.entries({ ...texts, ...noMedia }).map(([name, text]) => ({
      name,
      content: Buffer.from(text, 'latin1'),
    }));
    const { link } = await send([both, ...others]);
    await using page = await visit(link);
    for (const [name, text] of Object.entries(texts)) {
      await button(page, `Preview ${name}`).click();
      await shown(page).waitFor();
      expect(await shown(page).textContent()).toBe(text);
      expect(await shown(page).locator('*').count()).toBe(0);
      await closePreview(page);
    }
    await button(page, `Preview ${both.name}`).click();
    await shown(page).getByRole('img').waitFor();
    await closePreview(page);
    for (const name of Object.keys(noMedia)) {
      await button(page, `Preview ${name}`).click();
      await page.locator('dialog [data-unshowable]').waitFor();
      await closePreview(page);
    }
    expect(await page.evaluate(() => 'hasRun' in globalThis)).toBe(false);
    expect(page.frames()).toHaveLength(1);
    // What an address gives in a tab of its own is no document either.
    expect((await objectUrls(page, 'types')).toSorted()).toEqual(['image/gif', 'image/png']);
    expect(await objectUrls(page, 'live')).toEqual([]);
    expect(asked).toEqual([]);
    const hosts = new Set(page.sent.map((request) => new URL(request.split(/\s/)[1] ?? '').host));
    hosts.delete(''); // of blobs
    expect([...hosts]).toEqual([new URL(proxy().url).host]);
  });

  test('of a long text the first part is shown, and of a picture no more than a screen can need', async () => {
    const line = 'A line of a long log, and nothing else.\n';
    const log = line.repeat(100_000);
    const { link } = await send([
      { name: 'long.log', content: log },
      { name: 'bomb.png', content: blackPng(40_000, 2_600) },
    ]);
    await using page = await visit(link);
    await button(page, 'Preview long.log').click();
    await page.getByText('This is its first part: 1 MB of 4 MB.').waitFor();
    expect(await shown(page).textContent()).toBe(log.slice(0, 1024 ** 2));
    expect((await saveBy(page.locator('dialog').getByRole('button', { name: 'Save', exact: true }))).toString()).toBe(
      log,
    );
    await button(page, 'Preview bomb.png').click();
    await page.locator('dialog [data-unshowable]').waitFor();
    expect(await problemsOfLooks(page, 'preview-unshowable')).toEqual([]);
  });

  test('with nothing but a keyboard: the window has the focus, and gives it back', async () => {
    const { link } = await send([
      { name: 'a.txt', content: 'first' },
      { name: 'b.txt', content: 'second' },
    ]);
    await using page = await visit(link);
    await button(page, 'Preview b.txt').focus();
    await page.keyboard.press('Enter');
    await page.getByText('second').waitFor();
    expect(await problemsOfLooks(page, 'preview-text')).toEqual([]);
    const focus = () =>
      page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent);
    expect(await focus()).toBe('b.txt');
    const passed: unknown[] = [];
    for (let steps = 0; steps < 3; steps += 1) {
      await page.keyboard.press('Tab');
      passed.push(await focus());
    }
    expect(passed).toEqual(['Close', 'b.txt', 'Save']);
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await focus()).toBe('Preview b.txt');
  });

  test('a connection that is lost is waited for, and it is still one download', async () => {
    const wanted = bytes(700 * KIB);
    const created = await send([
      { name: 'a.txt', content: 'first' },
      { name: 'wanted.bin', content: wanted },
    ]);
    await using page = await visit(created.link);
    expect((await save(page, 'Save a.txt')).toString()).toBe('first');
    proxy().cut();
    try {
      const saved = save(page, 'Save wanted.bin');
      await page.getByText('Connection lost.').waitFor();
      expect(await problemsOfLooks(page, 'previews-trouble')).toEqual([]);
      proxy().mend();
      await page.evaluate(() => dispatchEvent(new Event('online'))); // as a browser says it
      expect((await saved).equals(wanted)).toBe(true);
    } finally {
      proxy().mend();
    }
    await page.getByText('“wanted.bin” has been saved').waitFor();
    expect((await client().getUsage(created)).usedCount).toBe(1);
  });

  test('in German', async () => {
    const { link } = await send([
      { name: 'Urlaub/Liste für den Strand, die etwas länger heißt.txt', content: 'Sonne' },
      { name: 'Urlaub/Meer.png', content: png(300, 200) },
    ]);
    await using page = await web.visit(link, { locale: 'de-DE' }, noPicker);
    await page.getByText('einzeln speichern, verbraucht einen Download').waitFor();
    expect(await problemsOfLooks(page, 'previews-german')).toEqual([]);
    await button(page, 'Vorschau von Meer.png').click();
    await shown(page).getByRole('img').waitFor();
    await button(page, 'Schließen').click();
    await page.getByText('Ein Download ist verbraucht.').waitFor();
    expect((await save(page, 'Liste für den Strand, die etwas länger heißt.txt speichern')).toString()).toBe('Sonne');
  });

  test('what was changed on its way is neither shown nor saved', async () => {
    const { link } = await send([
      { name: 'a.txt', content: 'right' },
      { name: 'b.txt', content: 'right, too' },
    ]);
    await using page = await visit(link);
    proxy().tampering = { kind: 'flip', at: 60 };
    try {
      await button(page, 'Preview a.txt').click();
      await page.locator('dialog [data-problem=tampered]').waitFor();
      expect(await problemsOfLooks(page, 'preview-tampered')).toEqual([]);
      await closePreview(page);
      await button(page, 'Save b.txt').click();
      await page.locator('[data-problem=tampered]').waitFor();
      expect(await page.getByText('has been saved').count()).toBe(0);
    } finally {
      proxy().tampering = { kind: 'none' };
    }
  });
});

describeWeb(
  'where downloads cannot be continued',
  { shapes: ['all'], settings: { DOWNLOAD_LEASE_SEC: '0' } },
  (web) => {
    test('there is only the whole', async () => {
      const files = ['a.txt', 'b.txt'].map((name) => new File(['text'], name));
      const { link } = await web.client.uploadFiles(files, { expireSec: 3600, maxDownloads: 1 });
      await using page = await web.open();
      const config = page.waitForResponse('**/api/config');
      await page.goto(link);
      await page.getByText('a.txt').waitFor();
      await config;
      await button(page, 'Download').waitFor();
      expect(await page.getByRole('button', { name: /Preview|Save/ }).count()).toBe(0);
    });
  },
);

describeWeb(
  'where a download can be continued for a second',
  { shapes: ['all'], settings: { DOWNLOAD_LEASE_SEC: '1', CLEANUP_INTERVAL_SEC: '3600' } },
  (web) => {
    test('what comes later is another download, and the page says so before', async () => {
      // So long that none comes with the other one.
      const textOf = (name: string) => name.repeat(40_000);
      const files = ['a.txt', 'b.txt'].map((name) => new File([textOf(name)], name));
      const created = await web.client.uploadFiles(files, { expireSec: 3600, maxDownloads: 5 });
      await using page = await web.visit(created.link, {}, noPicker);
      expect((await save(page, 'Save a.txt')).toString()).toBe(textOf('a.txt'));
      await page.waitForTimeout(2_000); // its time passes
      await button(page, 'Preview b.txt').click();
      await page.locator('dialog').getByText('The next file uses another one.').waitFor();
      expect(await problemsOfLooks(page, 'preview-over')).toEqual([]);
      await closePreview(page);
      await page.getByText('The next file uses another one.').waitFor();
      expect((await web.client.getUsage(created)).usedCount).toBe(1);
      expect((await save(page, 'Save b.txt')).toString()).toBe(textOf('b.txt'));
      expect((await web.client.getUsage(created)).usedCount).toBe(2);
      await page.getByText('3 of 5').waitFor();
    });
  },
);
