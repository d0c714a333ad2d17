import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Saves a picture of everything that is checked here, to be looked at: WEB_SCREENSHOTS=docs/screenshots npm test -- test/web */
const FOLDER = process.env.WEB_SCREENSHOTS;

const WIDTHS = { desktop: { width: 1100, height: 850 }, phone: { width: 360, height: 740 } };
const LOOKS = [
  { scheme: 'light', width: 'desktop' },
  { scheme: 'dark', width: 'desktop' },
  { scheme: 'light', width: 'phone' },
  { scheme: 'dark', width: 'phone' },
] as const;

type Axe = { run(options: object): Promise<{ violations: Violation[] }> };
type Violation = { id: string; nodes: { html: string; failureSummary?: string }[] };

/** The rules that another colour scheme can break. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/**
 * Violations of accessibility rules on a page as it stands, in light and dark, wide and narrow; what is too wide, also
 * from right to left; and buttons that nobody takes for one.
 */
export async function problemsOfLooks(page: Page, name: string): Promise<string[]> {
  const found: string[] = [];
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  for (const { scheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    await page.setViewportSize(WIDTHS[width]);
    const rules = scheme === 'dark' ? { runOnly: COLOUR_RULES } : {};
    const problems = await page.evaluate(
      async (options) => {
        const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(options);
        const nodes = violations.flatMap(({ id, nodes }) => nodes.map((node) => ({ id, ...node })));
        return nodes.map(({ id, html, failureSummary }) => `${id}: ${html} ${failureSummary}`);
      },
      { resultTypes: ['violations'], ...rules },
    );
    found.push(...problems.map((problem) => `${name} (${scheme}, ${width}): ${problem}`));
    found.push(...(await tooWide(page, `${name}-${scheme}-${width}`)));
  }
  const bare = await page.locator('.button:not(.main, .plain)').allInnerTexts();
  found.push(...bare.map((text) => `${name}: "${text}" is a button and does not look like one`));
  const dir = await page.evaluate(() => document.documentElement.dir);
  await page.evaluate(() => Object.assign(document.documentElement, { dir: 'rtl' }));
  found.push(...(await tooWide(page, `${name}-right-to-left-phone`)));
  await page.evaluate((before) => Object.assign(document.documentElement, { dir: before }), dir);
  return found;
}

/** What of a page does not fit on the screen, which is saved as a picture of that name if pictures are asked for. */
export async function tooWide(page: Page, name: string): Promise<string[]> {
  if (FOLDER) {
    mkdirSync(FOLDER, { recursive: true });
    // With an action at the lower edge of the screen, the screen; else all of it.
    const fullPage = (await page.locator('.action').count()) === 0;
    await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage });
  }
  const { scrollWidth, clientWidth } = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return { scrollWidth, clientWidth };
  });
  return scrollWidth > clientWidth ? [`${name}: ${scrollWidth} px on ${clientWidth}`] : [];
}
