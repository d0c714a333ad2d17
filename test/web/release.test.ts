import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Release } from '@mayfly/vocabulary/pages';
import { expect, test } from 'vitest';
import { askForFiles, dropFiles, openList } from './asking.ts';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { BLUE, pages, pdfOf, stream } from './pdf-bytes.ts';
import { button, closePreview } from './preview-dialog.ts';
import { recordLoads, TELL_MODULES } from './release-recorder.ts';
import { sendFiles, shownLink } from './sending.ts';

// Decision release-list.

const text = readFileSync(join(process.env.TEST_WEB_DIR ?? '', 'release.json'));
const release: Release = JSON.parse(text.toString());
const isPage = (path: string) =>
  release.pages.some((page) => new RegExp(`^${page.replace(':id', '[^/]+')}$`).test(path)) || path === '/nonsense';

/** What is no part of a release: what the operator has set, and the list itself. */
const APART = ['/brand.json', '/release.json'];
const PASSPHRASE = 'seven grey geese swim past the harbour';

const file = (name: string, content: Buffer | string = name) => ({ name, buffer: Buffer.from(content) });

/** Needs a decoder of WebAssembly, a font and a character map. */
function foreignPdf() {
  const picture = '/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray';
  const size = Buffer.from(`ff4fff5100290000${'00000008'.repeat(2)}${'00'.repeat(24)}0001070101`, 'hex');
  return pdfOf({
    ...pages([
      {
        size: [200, 200],
        content: `BT /F1 20 Tf 10 10 Td <4e00> Tj ET /Im1 Do /Im2 Do ${BLUE}`,
        entries: '/Resources << /Font << /F1 30 0 R >> /XObject << /Im1 33 0 R /Im2 34 0 R >> >>',
      },
      { size: [200, 200], content: 'BT /F1 24 Tf 20 150 Td (Hello) Tj ET' },
    ]),
    30: '<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /UniGB-UCS2-H /DescendantFonts [31 0 R] >>',
    31: '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /FontDescriptor 32 0 R >>',
    32: '<< /Type /FontDescriptor /FontName /Song /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 1 /Descent 0 /StemV 1 >>',
    33: stream(size.toString('latin1'), `${picture} /BitsPerComponent 8 /Filter /JPXDecode`),
    34: stream('no picture', `${picture} /BitsPerComponent 1 /Filter /JBIG2Decode`),
  });
}

describeWeb('the published release', { shapes: ['all'], settings: { REPORTS: 'on' } }, (web) => {
  test('lists every byte that a browser loads in all views, and every WebAssembly module that it compiles', async () => {
    await using recorder = await recordLoads(web.baseUrl);
    const { url, loaded, modules } = recorder;
    const here = (link: string) => link.replace(web.baseUrl, url);
    await using page = await web.open({}, async (context) => {
      await noPicker(context);
      await context.addInitScript(TELL_MODULES);
      await context.addInitScript(() =>
        Reflect.set(globalThis, 'showDirectoryPicker', async () => {
          const storage = await navigator.storage.getDirectory();
          return storage.getDirectoryHandle('chosen', { create: true });
        }),
      );
    });
    const openLink = async (link: string) => {
      await page.goto('about:blank'); // another link in the same page would be a reload
      await page.goto(here(link));
    };

    // Sending, with a generated password, and the link as a QR code; the list, exported and imported.
    await page.goto(url);
    await page.context().waitForEvent('serviceworker', (worker) => worker.url() === `${url}/offline.js`);
    const own = await sendFiles(page, url, [file('a.txt')], {
      password: 'correct horse battery',
      downloads: '2 downloads',
    });
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await openList(page, url);
    await page.getByText('Export the list').click();
    await page.locator('[data-export]').getByLabel('Passphrase').fill(PASSPHRASE);
    const [exported] = await Promise.all([page.waitForEvent('download'), button(page, 'Encrypt and save').click()]);
    await page.getByText('Import a list').click();
    const list = { name: 'l.json', mimeType: 'application/json', buffer: await readFile(await exported.path()) };
    await page.getByLabel('Exported file').setInputFiles(list);
    await page.locator('[data-import]').getByLabel('Passphrase').fill(PASSPHRASE);
    await button(page, 'Decrypt and add').click();
    await page.getByText('0 added, 1 already in the list.').waitFor();

    // Receiving behind a password, through the service worker; and a report.
    await openLink(own);
    await button(page, 'Report this').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('What is it about?').selectOption({ label: 'Something else' });
    await dialog.getByRole('button', { name: 'Send the report' }).click();
    await dialog.getByRole('heading', { name: 'The report has been sent' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByLabel('Password').fill('correct horse battery');
    await button(page, 'Unlock').click();
    await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);

    // An archive: looked at file by file, and unpacked.
    const files = { 'b/text.txt': 'text', 'foreign.pdf': foreignPdf(), 'c.txt': 'c' };
    const { link: several } = await web.client.uploadFiles(
      Object.entries(files).map(([name, content]) => new File([content], name)),
      { expireSec: 3600, maxDownloads: 3 },
    );
    await openLink(several);
    await button(page, 'Preview text.txt').click();
    await closePreview(page);
    await button(page, 'Preview foreign.pdf').click();
    await page.getByRole('img', { name: 'Page 1 of foreign.pdf' }).waitFor();
    await closePreview(page);
    await button(page, 'Unpack into a folder').click();
    await page.getByText('3 files are in the folder, verified.').waitFor();

    // Notes of each kind that is shown in a way of its own.
    for (const [kind, fill] of [
      ['Markdown', '# Plan\n\n```js\nconst a = 1;\n```'],
      ['Code', 'let a = 1;'],
      ['Password', undefined],
      ['SSH key', undefined],
    ] as const) {
      await page.goto(url);
      await page.getByText('Note', { exact: true }).click();
      await page.getByLabel('Kind of note').selectOption({ label: kind });
      if (kind === 'Password') await page.getByText('Generate a password to send').click();
      if (kind === 'SSH key') await page.getByRole('button', { name: 'Make a new key pair (Ed25519)' }).click();
      if (fill) await page.getByLabel('The note').fill(fill);
      else
        await expect
          .poll(() => page.getByLabel(kind === 'Password' ? 'The password to send' : 'The note').inputValue())
          .not.toBe('');
      await button(page, 'Encrypt and make a link').click();
      await openLink(await shownLink(page));
      await button(page, 'Read the note').click();
      await page.getByText('This was the last view').waitFor();
    }

    // Asking for files, dropping and collecting them.
    await page.goto(`${url}/request`);
    const { dropLink, keepLink } = await askForFiles(page, url, 'Papers');
    await openLink(dropLink);
    await dropFiles(page, [file('p.txt')]);
    await button(page, 'Send more').click();
    await dropFiles(page, [file('q.txt')]);
    await openLink(keepLink);
    await page.getByText('2 deliveries have arrived').waitFor();
    await Promise.all([page.waitForEvent('download'), button(page, 'Download all').click()]);
    await page.locator('[data-collected]').waitFor();

    // What is none, every language, and the release itself.
    await page.goto(`${url}/signin`); // where nobody has to
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.goto(`${url}/nonsense`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    const tags = await page
      .locator('footer option')
      .evaluateAll((all) => all.map((one) => one.getAttribute('lang') ?? ''));
    expect(tags).toHaveLength(14);
    for (const tag of [...tags.filter((tag) => tag !== 'en'), 'en']) {
      await page.locator('footer select').selectOption(tag);
      await page.locator(`html[lang=${tag}]`).waitFor();
    }
    await page.getByText(`Mayfly ${release.version}`).click();
    await page.getByText(/^This page says that it is release/).waitFor();

    const isListed = ([path, sha256]: [string, string]) =>
      APART.includes(path) || sha256 === release.files[isPage(path) ? '/' : path]?.sha256;
    expect([...loaded].filter((one) => !isListed(one))).toEqual([]);
    expect([...modules].filter((module) => !release.wasm.includes(module))).toEqual([]);
    console.log(`release: ${loaded.size} addresses loaded, ${modules.size} modules compiled`);
    expect(modules.size).toBeGreaterThan(1);
    // It was a crawl of all views: what was not loaded is for what goes wrong, such as uploads that were interrupted.
    const scripts = Object.keys(release.files).filter((path) => /\.(js|css|wasm)$/.test(path));
    const notLoaded = scripts.filter((path) => !loaded.has(path));
    console.log(
      `release: ${notLoaded.length} of ${scripts.length} scripts and styles not loaded: ${notLoaded.join(' ')}`,
    );
    expect(notLoaded.length).toBeLessThan(scripts.length / 10);
  });
});
