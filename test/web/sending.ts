import type { Page } from 'playwright-core';

type NamedFile = { name: string; mimeType?: string; buffer: Buffer };
type Choices = { password?: string; downloads?: string; expires?: string };

/** Chooses files on a page that is open, as a person with a mouse does. */
export async function chooseFiles(page: Page, files: NamedFile[]) {
  const payloads = files.map(({ mimeType = 'text/plain', ...file }) => ({ mimeType, ...file }));
  await page.setInputFiles('[data-pick=files]', payloads);
}

/** The headline of the first page. */
export const PROMISE = 'Send files only they can open';

/** Asks for a password for what is about to be sent. */
export async function protect(page: Page, password: string) {
  await page.getByRole('button', { name: 'Add a password' }).click();
  await page.getByLabel('Password', { exact: true }).fill(password);
}

async function choose(page: Page, { password, downloads, expires }: Choices) {
  if (password !== undefined) await protect(page, password);
  if (downloads !== undefined) await page.getByLabel('Downloads').selectOption({ label: downloads });
  if (expires !== undefined) await page.getByLabel('Expires after').selectOption({ label: expires });
}

/** The link that a page shows when it has sent something. */
export function shownLink(page: Page): Promise<string> {
  return page.getByRole('textbox', { name: 'Link', exact: true }).inputValue();
}

/** Opens the first page, sends files, and returns their link. */
export async function sendFiles(
  page: Page,
  baseUrl: string,
  files: NamedFile[],
  choices: Choices = {},
): Promise<string> {
  await page.goto(baseUrl);
  await chooseFiles(page, files);
  await choose(page, choices);
  await page.getByRole('button', { name: 'Encrypt and send' }).click();
  return shownLink(page);
}

/** The same for a note. */
export async function sendNote(
  page: Page,
  baseUrl: string,
  text: string,
  { password, views }: { password?: string; views?: string } = {},
) {
  await page.goto(baseUrl);
  await page.getByText('Note', { exact: true }).click();
  await page.getByLabel('The note').fill(text);
  if (password !== undefined) await choose(page, { password });
  if (views !== undefined) await page.getByLabel('Views').selectOption({ label: views });
  await page.getByRole('button', { name: 'Encrypt and make a link' }).click();
  return shownLink(page);
}
