import { serve } from '@mayfly/testing/listen';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { BLUE, hostilePdf, pages, pdfOf, protectedPdf, stream } from './pdf-bytes.ts';
import { button, closePreview } from './preview-dialog.ts';

const canvas = (page: Page, name: string) => page.getByRole('img', { name, exact: true });

/** The colour in the middle, and how many different ones there are. */
const coloursOf = (page: Page, name: string) =>
  canvas(page, name).evaluate((element: HTMLCanvasElement) => {
    const { width, height } = element;
    const { data } = element.getContext('2d')?.getImageData(0, 0, width, height) ?? { data: [] };
    const pixels = new Uint32Array(new Uint8Array(data).buffer);
    const middle = (Math.floor(height / 2) * width + Math.floor(width / 2)) * 4;
    return { width, height, middle: [...data.slice(middle, middle + 4)], count: new Set(pixels).size };
  });
const BLUE_PIXEL = [51, 102, 204, 255];
const WHITE_PIXEL = [255, 255, 255, 255];
const square = (content: string) => ({ size: [200, 200] as [number, number], content });

describeWeb('PDF, looked at before it is saved', { shapes: ['all'] }, (web) => {
  const send = (files: Record<string, Buffer<ArrayBuffer> | string>) =>
    web.client.uploadFiles(
      Object.entries(files).map(([name, content]) => new File([content], name, { type: 'application/pdf' })),
      { expireSec: 3600, maxDownloads: 5 },
    );

  test('page by page, with the keyboard, and nothing of it stays', async () => {
    const text = 'BT /F1 24 Tf 20 150 Td (Hello) Tj ET';
    const { link } = await send({ 'two pages.pdf': pdfOf(pages([square(text), square(BLUE)])), 'b.txt': 'b' });
    await using page = await web.visit(link, {}, noPicker);
    await button(page, 'Preview two pages.pdf').waitFor();
    expect(page.sent.filter((request) => request.includes('pdf'))).toEqual([]); // nothing is loaded in advance
    const workersBefore = page.workers().length;
    await button(page, 'Preview two pages.pdf').click();
    const first = 'Page 1 of two pages.pdf';
    await canvas(page, first).waitFor();
    await page.getByText('Page 1 of 2').waitFor();
    expect(await problemsOfLooks(page, 'preview-pdf')).toEqual([]);
    const white = await coloursOf(page, first);
    expect(white.middle).toEqual(WHITE_PIXEL);
    expect(white.count).toBeGreaterThan(2); // letters, with soft edges, in a font that the document does not hold
    expect(page.sent.filter((request) => /\/assets\/LiberationSans-Regular/.test(request))).toHaveLength(1);
    const focus = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    const passed: unknown[] = [];
    await button(page, 'Close').focus();
    for (let steps = 0; steps < 3; steps += 1) {
      await page.keyboard.press('Tab');
      passed.push(await focus());
    }
    expect(passed).toEqual(['Previous page', 'Next page', 'two pages.pdf']);
    await button(page, 'Next page').focus();
    await page.keyboard.press('Enter');
    await canvas(page, 'Page 2 of two pages.pdf').waitFor();
    await page.getByText('Page 2 of 2').waitFor();
    expect(await coloursOf(page, 'Page 2 of two pages.pdf')).toMatchObject({ middle: BLUE_PIXEL, count: 1 });
    await page.keyboard.press('Enter'); // there is no third
    await page.getByText('Page 2 of 2').waitFor();
    expect(await focus()).toBe('Next page');
    expect(await button(page, 'Next page').getAttribute('aria-disabled')).toBe('true');
    await button(page, 'Previous page').click();
    await canvas(page, first).waitFor();
    expect(page.workers()).toHaveLength(workersBefore + 1);
    await closePreview(page);
    await expect.poll(() => page.workers().length, { timeout: 60_000 }).toBe(workersBefore);
    expect(await page.locator('canvas').count()).toBe(0);
  });

  test('no script of it runs and no request leaves, whatever it wants', async () => {
    const asked: string[] = [];
    await using elsewhere = await serve(({ url = '' }, answer) => {
      asked.push(url);
      answer.end();
    });
    const address = elsewhere.url;
    const html = `<!doctype html><!-- %PDF-1.7 --><script>globalThis.hasRun = true; fetch('${address}/html')</script>`;
    const { link } = await send({ 'hostile.pdf': hostilePdf(address), 'page.pdf': html });
    await using page = await web.open({}, noPicker);
    const context = page.context();
    await page.goto(link);
    await button(page, 'Preview hostile.pdf').click();
    for (const name of ['Page 1 of hostile.pdf', 'Page 2 of hostile.pdf']) {
      if (name.startsWith('Page 2')) await button(page, 'Next page').click();
      await canvas(page, name).click(); // where its links are
      expect((await coloursOf(page, name)).middle).toEqual(BLUE_PIXEL);
      expect(await page.locator('dialog [data-shown] *').count()).toBe(1);
      for (const worker of page.workers()) expect(await worker.evaluate(() => 'hasRun' in globalThis)).toBe(false);
    }
    await closePreview(page);
    await button(page, 'Preview page.pdf').click();
    await page.locator('dialog [data-unshowable=unshowable]').waitFor();
    expect(await page.evaluate(() => 'hasRun' in globalThis)).toBe(false);
    expect([context.pages().length, page.frames().length]).toEqual([1, 1]);
    expect(asked).toEqual([]);
    const hosts = new Set(page.sent.map((request) => new URL(request.split(/\s/)[1] ?? '').host));
    expect([...hosts]).toEqual([new URL(web.baseUrl).host]);
  });

  test('what a document does not hold comes from this service, and decoders run under its policy', async () => {
    const picture = '/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8';
    // The beginning of a JPEG 2000, which says how large it is; the rest is missing.
    const size = Buffer.from(`ff4fff5100290000${'00000008'.repeat(2)}${'00'.repeat(24)}0001070101`, 'hex').toString(
      'latin1',
    );
    const objects = {
      ...pages([
        {
          ...square(`BT /F1 20 Tf 10 10 Td <4e00> Tj ET /Im1 Do /Im2 Do ${BLUE} /Soft gs 1 0 0 rg 0 0 50 50 re f`),
          entries:
            '/Resources << /Font << /F1 30 0 R >> /XObject << /Im1 33 0 R /Im2 34 0 R >> /ExtGState << /Soft 35 0 R >> >>',
        },
      ]),
      30: '<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /UniGB-UCS2-H /DescendantFonts [31 0 R] >>',
      31: '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /FontDescriptor 32 0 R >>',
      32: '<< /Type /FontDescriptor /FontName /Song /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 1 /Descent 0 /StemV 1 >>',
      33: stream(size, `${picture} /Filter /JPXDecode`),
      // Drawn through a filter that pdf.js adds to the page.
      35: '<< /Type /ExtGState /SMask << /S /Luminosity /G 36 0 R /BC [0] /TR 37 0 R >> >>',
      36: stream(BLUE, '/Type /XObject /Subtype /Form /BBox [0 0 50 50] /Group << /S /Transparency /CS /DeviceGray >>'),
      37: '<< /FunctionType 2 /Domain [0 1] /N 1 /C0 [1] /C1 [0] >>',
      34: stream('no picture', `${picture.replace('Component 8', 'Component 1')} /Filter /JBIG2Decode`),
    };
    const { link } = await send({ 'foreign.pdf': pdfOf(objects) });
    await using page = await web.visit(link, {}, noPicker);
    await button(page, 'Preview').click();
    await canvas(page, 'Page 1 of foreign.pdf').waitFor();
    expect((await coloursOf(page, 'Page 1 of foreign.pdf')).middle).toEqual(BLUE_PIXEL);
    const lookedUp = ['UniGB-UCS2-H', 'openjpeg', 'jbig2'];
    expect(lookedUp.filter((name) => page.sent.some((request) => request.includes(`/assets/${name}-`)))).toEqual(
      lookedUp,
    );
  });

  test('a broken one, a protected one and a page too large to draw', async () => {
    const huge = pages([
      { size: [14_400, 14_400], content: '0.2 0.4 0.8 rg 0 0 14400 14400 re f' },
      { size: [3, 14_400], content: '0.2 0.4 0.8 rg 0 0 3 14400 re f' },
    ]);
    const half = pages([square(BLUE), square(BLUE)]);
    delete half[12]; // its second page
    const { link } = await send({
      'half.pdf': pdfOf(half),
      'broken.pdf': `%PDF-1.7\n${'broken '.repeat(1_000)}`,
      'protected.pdf': protectedPdf(),
      'huge.pdf': pdfOf(huge),
    });
    await using page = await web.visit(link, { deviceScaleFactor: 4 }, noPicker);
    await button(page, 'Preview broken.pdf').click();
    await page.locator('dialog [data-unshowable=unshowable]').waitFor();
    await button(page, 'Save').waitFor();
    await closePreview(page);
    await button(page, 'Preview protected.pdf').click();
    await page.getByText('It has a password of its own').waitFor();
    expect(await problemsOfLooks(page, 'preview-pdf-protected')).toEqual([]);
    await closePreview(page);
    await button(page, 'Preview half.pdf').click();
    await canvas(page, 'Page 1 of half.pdf').waitFor();
    await button(page, 'Next page').click();
    await page.getByText('This page cannot be shown.').waitFor();
    expect(await problemsOfLooks(page, 'preview-pdf-broken-page')).toEqual([]);
    await button(page, 'Previous page').click();
    await canvas(page, 'Page 1 of half.pdf').waitFor();
    await closePreview(page);
    await button(page, 'Preview huge.pdf').click();
    for (const name of ['Page 1 of huge.pdf', 'Page 2 of huge.pdf']) {
      if (name.startsWith('Page 2')) await button(page, 'Next page').click();
      await canvas(page, name).waitFor({ state: 'attached' });
      const { width, height, middle } = await coloursOf(page, name);
      expect(middle).toEqual(BLUE_PIXEL);
      expect(width * height).toBeLessThanOrEqual(8_000_000);
      expect(Math.max(width, height)).toBeLessThanOrEqual(8_192);
    }
  });

  test('without what it takes to show it, it says so, in German, too', async () => {
    const { link } = await send({ 'Brief.pdf': pdfOf(pages([square('BT /F1 24 Tf 20 90 Td (Text) Tj ET')])) });
    for (const missing of ['pdf.worker', 'LiberationSans', 'open-pdf']) {
      const page = await web.visit(link, { locale: 'de-DE' }, noPicker);
      try {
        await page.route(`**/assets/${missing}*`, (route) => route.abort());
        await button(page, 'Vorschau').click();
        await page.getByText('Was zum Anzeigen nötig ist, ließ sich nicht laden.').waitFor();
        // The browser's own words about what did not come.
        expect(page.faults.filter((fault) => !/Failed to (load resource|fetch)/.test(fault))).toEqual([]);
      } finally {
        page.faults.length = 0;
        await page[Symbol.asyncDispose]();
      }
    }
    await using page = await web.visit(link, { locale: 'de-DE' }, noPicker);
    await button(page, 'Vorschau').click();
    await canvas(page, 'Seite 1 von Brief.pdf').waitFor();
    await page.getByText('Seite 1 von 1').waitFor();
    expect(await problemsOfLooks(page, 'preview-pdf-german')).toEqual([]);
  });
});
