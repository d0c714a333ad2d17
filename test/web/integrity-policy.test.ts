import { expect, test } from 'vitest';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { pages, pdfOf } from './pdf-bytes.ts';
import { button, closePreview } from './preview-dialog.ts';
import { sendFiles, sendNote } from './sending.ts';

// Decision hashes-that-browsers-demand. That the engine knows the header is seen by a script that it refuses.

const SCRIPT = '/not-of-the-release.js';
/** As text: a function would be changed by what runs the tests. */
const IMPORT = `import('${SCRIPT}')`;

/** The addresses of what was refused, or reported, for want of a hash. */
const VIOLATIONS = `new Promise((resolve) => {
  setTimeout(resolve, 20_000, []);
  const observer = new ReportingObserver((reports) => resolve(reports.map(({ body }) => body.blockedURL)), {
    types: ['integrity-violation'],
    buffered: true,
  });
  observer.observe();
})`;

describeWeb(
  'pages whose scripts must have a hash',
  { shapes: ['all'], settings: { INTEGRITY_POLICY: 'enforce' } },
  (web) => {
    test('say so in a header, and work: sending, receiving, previews, notes, other languages', async () => {
      const answer = await fetch(web.baseUrl);
      expect(answer.headers.get('integrity-policy')).toBe('blocked-destinations=(script)');
      await using page = await web.open({}, noPicker);
      const link = await sendFiles(page, web.baseUrl, [{ name: 'a.txt', buffer: Buffer.from('a') }], {
        password: 'right one',
      });
      await page.goto(link);
      await page.getByLabel('Password').fill('right one');
      await button(page, 'Unlock').click();
      await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);
      const pdf = pdfOf(pages([{ size: [200, 200], content: 'BT /F1 24 Tf 20 90 Td (Text) Tj ET' }]));
      const sent = await web.client.uploadFiles([new File([pdf], 'b.pdf')], { expireSec: 3600, maxDownloads: 2 });
      await page.goto(sent.link);
      await button(page, 'Preview').click();
      await page.getByRole('img', { name: 'Page 1 of b.pdf' }).waitFor();
      await closePreview(page);
      const note = await web.client.createNote('# Plan', { contentType: 'markdown', expireSec: 3600, maxViews: 1 });
      await page.goto(note.link);
      await button(page, 'Read the note').click();
      await page.locator('[data-formatted=markdown] h1').waitFor();
      await sendNote(page, web.baseUrl, 'a note');
      await page.locator('footer select').selectOption('de');
      await page.locator('html[lang=de]').waitFor();
      await page.goto(`${web.baseUrl}/uploads`);
      await page.getByText('a.txt').waitFor({ state: 'attached' }); // among what is over, which may be folded
    });

    test('load no script without one, from wherever', async () => {
      await using page = await web.visit(web.baseUrl);
      await page.getByText('Choose files').waitFor();
      await page.route(`**${SCRIPT}`, (route) =>
        route.fulfill({ contentType: 'text/javascript', body: 'globalThis.hasRun = true' }),
      );
      // A module that no map of hashes names.
      const loaded = await page.evaluate(`${IMPORT}.then(() => 'loaded', (error) => error.name)`);
      expect(loaded).toBe('TypeError');
      expect(await page.evaluate(() => Reflect.get(globalThis, 'hasRun'))).toBeUndefined();
      expect(await page.evaluate(VIOLATIONS)).toEqual([web.baseUrl + SCRIPT]);
      page.faults.length = 0; // what the browser says of it is what was wanted
    });
  },
);

describeWeb('pages that only report it', { shapes: ['all'], settings: { INTEGRITY_POLICY: 'report' } }, (web) => {
  test('load a script without a hash', async () => {
    const { headers } = await fetch(`${web.baseUrl}/uploads`);
    expect(headers.get('integrity-policy-report-only')).toBe('blocked-destinations=(script)');
    expect(headers.get('integrity-policy')).toBe(null);
    await using page = await web.visit(web.baseUrl);
    await page.getByText('Choose files').waitFor();
    await page.route(`**${SCRIPT}`, (route) =>
      route.fulfill({ contentType: 'text/javascript', body: 'globalThis.hasRun = true' }),
    );
    await page.evaluate(`${IMPORT}.then(() => {})`);
    expect(await page.evaluate(() => Reflect.get(globalThis, 'hasRun'))).toBe(true);
    expect(await page.evaluate(VIOLATIONS)).toEqual([web.baseUrl + SCRIPT]);
    page.faults.length = 0;
  });
});
