import type { Page } from 'playwright-core';
import type { Prepare } from './browser.ts';
import { chooseFiles } from './sending.ts';

type Links = { dropLink: string; keepLink: string };
type Choices = { text?: string; deliveries?: string; size?: string; time?: string };

/** Makes a file request, and returns its two links. */
export async function askForFiles(
  page: Page,
  baseUrl: string,
  title: string,
  { text, deliveries, size, time }: Choices = {},
): Promise<Links> {
  if (new URL(page.url(), baseUrl).pathname !== '/request') await page.goto(`${baseUrl}/request`);
  const another = page.getByRole('button', { name: 'Make another request' });
  if (await another.count()) await another.click();
  await page.getByLabel('What do you need?').fill(title);
  if (text) await page.getByLabel('Details').fill(text);
  if (deliveries) await page.getByLabel('Number of deliveries').selectOption({ label: deliveries });
  if (size) await page.getByLabel('Size in all').selectOption({ label: size });
  if (time) await page.getByLabel('Time for sending').selectOption({ label: time });
  await page.getByRole('button', { name: 'Make the links' }).click();
  return {
    dropLink: await page.getByRole('textbox', { name: 'Link to give away' }).inputValue(),
    keepLink: await page.getByRole('textbox', { name: 'Your private link' }).inputValue(),
  };
}

/** Sends files on the page of a request's link. */
export async function dropFiles(page: Page, files: Parameters<typeof chooseFiles>[1]) {
  await chooseFiles(page, files);
  await page.getByRole('button', { name: 'Encrypt and send' }).click();
  await page.getByRole('heading', { name: 'Sent', exact: true }).waitFor();
}

export async function openList(page: Page, baseUrl: string) {
  await page.goto(`${baseUrl}/uploads`);
  await page.getByRole('heading', { name: 'My uploads' }).waitFor();
}

/** A browser that keeps nothing. */
export const refuseStorage: Prepare = (context) =>
  context.addInitScript(() => Reflect.deleteProperty(globalThis, 'indexedDB'));
