import type { Page } from 'playwright-core';

export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Closes a preview, and waits until it is gone. */
export async function closePreview(page: Page) {
  await button(page, 'Close').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
}
