import axe from 'axe-core';
import type { Page } from 'playwright-core';

const WIDTHS = [1100, 360];
const SCHEMES = ['light', 'dark'] as const;

type Axe = { run(options: object): Promise<{ violations: Violation[] }> };
type Violation = { id: string; nodes: { html: string; failureSummary?: string }[] };

/** Violations of accessibility rules on a page as it stands, in light and dark, wide and narrow; and what is too wide. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of SCHEMES) {
    for (const width of WIDTHS) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(axe.source);
      const problems = await page.evaluate(async () => {
        const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run({ resultTypes: ['violations'] });
        const { scrollWidth, clientWidth } = document.documentElement;
        const tooWide = scrollWidth > clientWidth ? [`${scrollWidth} px on ${clientWidth}`] : [];
        const nodes = violations.flatMap(({ id, nodes }) => nodes.map((node) => ({ id, ...node })));
        return [...nodes.map(({ id, html, failureSummary }) => `${id}: ${html} ${failureSummary}`), ...tooWide];
      });
      found.push(...problems.map((problem) => `${colorScheme}, ${width} px: ${problem}`));
    }
  }
  return found;
}
