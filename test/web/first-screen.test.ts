import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { chooseFiles } from './sending.ts';

const PHONES = [
  { width: 390, height: 844 },
  { width: 360, height: 640 },
];
const SCREENS = [...PHONES, { width: 1100, height: 850 }];
const MOST_SHIFT = 0.02;

type Shift = PerformanceEntry & { value: number; hadRecentInput: boolean };

/** Adds up what moves on a page without anybody's doing. Runs before it is loaded. */
function watchShifts() {
  const seen = { shift: 0 };
  Object.assign(globalThis, { seen });
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries() as Shift[]) if (!hadRecentInput) seen.shift += value;
  }).observe({ type: 'layout-shift', buffered: true });
}

describeWeb('the first screen', { shapes: ['all'] }, (web) => {
  /** Whether a person sees it, and can press it, where the page stands. */
  async function expectInSight(action: Locator) {
    await action.waitFor();
    const isInSight = await action.evaluate((element) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      const at = document.elementFromPoint(left + width / 2, top + height / 2);
      return scrollY === 0 && top >= 0 && top + height <= innerHeight && element.contains(at);
    });
    expect(isInSight).toBe(true);
  }

  const file = (name: string) => ({ name, buffer: Buffer.alloc(100_000) });

  test.each(PHONES)('of a phone with $width x $height has the action of every step on it', async (viewport) => {
    const report = new File(['x'], 'quarterly report.pdf');
    const { link } = await web.client.uploadFiles([report], { expireSec: 3600, maxDownloads: 1 });
    const note = await web.client.createNote('text', { expireSec: 3600, maxViews: 1 });
    await using page = await web.visit(web.baseUrl, { viewport });
    await expectInSight(page.getByText('Choose files'));
    await chooseFiles(page, ['beach at dusk.jpg', 'letter.pdf', 'notes.txt', 'plan.txt', 'song.mp3'].map(file));
    await expectInSight(page.getByRole('button', { name: 'Encrypt and send' }));
    await page.getByText('Note', { exact: true }).click();
    await page.evaluate(() => scrollTo(0, 0));
    await expectInSight(page.getByRole('button', { name: 'Encrypt and make a link' }));
    await page.goto(link);
    await expectInSight(page.getByRole('button', { name: 'Download', exact: true }));
    await page.goto(note.link);
    await expectInSight(page.getByRole('button', { name: 'Read the note' }));
  });

  /** The service answers when the page has been painted without it: whatever comes then may move what is there. */
  async function openLate(page: Page, address: string, ready: Locator) {
    await page.addInitScript(watchShifts);
    await page.route(/\/(api\/|brand\.json)/, async (route) => {
      await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
      await route.continue();
    });
    await page.goto(address);
    await ready.waitFor();
    await page.waitForLoadState('networkidle');
    return page.evaluate(() => (globalThis as unknown as { seen: { shift: number } }).seen.shift);
  }

  test.each(SCREENS)('stays where it is when the service answers late, at $width x $height', async (viewport) => {
    const photos = ['photos/one.jpg', 'photos/two.jpg'].map((name) => new File(['x'], name));
    const { link } = await web.client.uploadFiles(photos, { expireSec: 3600, maxDownloads: 1 });
    const note = await web.client.createNote('text', { expireSec: 3600, maxViews: 1 });
    const pages: [string, (page: Page) => Locator][] = [
      [web.baseUrl, (page) => page.getByText('Choose files')],
      [link, (page) => page.getByRole('button', { name: 'Save one.jpg' })],
      [note.link, (page) => page.getByRole('button', { name: 'Read the note' })],
      [note.link.slice(0, -3), (page) => page.locator('[data-problem]')],
    ];
    for (const [address, ready] of pages) {
      await using page = await web.open({ viewport, reducedMotion: 'reduce' });
      const shift = await openLate(page, address, ready(page));
      expect(shift, new URL(address).pathname).toBeLessThan(MOST_SHIFT);
    }
  });
});
