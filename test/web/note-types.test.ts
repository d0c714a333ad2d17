import { MayflyClient, type NoteContentType } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeSshKey } from '../../apps/web/src/note-formats/ssh-key.ts';
import type { RunningShape } from '../infra/shapes.ts';
import { CHROMIUM, openPage, startBrowser } from './browser.ts';
import { problemsOfLooks } from './looks.ts';
import { shownLink } from './sending.ts';
import { startWebService } from './web-service.ts';

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };

describe.skipIf(!CHROMIUM)('kinds of notes in a browser (needs Chromium, else skipped)', () => {
  let service: RunningShape;
  let browser: Browser;
  let client: MayflyClient;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startWebService('all'), startBrowser()]);
    client = new MayflyClient({ baseUrl: service.baseUrl, transport: nodeTransport() });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  async function begin(page: Page, label: string) {
    await page.goto(service.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.getByLabel('Kind of note').selectOption({ label });
  }

  async function finish(page: Page): Promise<string> {
    await page.getByRole('button', { name: 'Encrypt and make a link' }).click();
    return shownLink(page);
  }

  async function receive(page: Page, text: string, contentType: NoteContentType) {
    const { link } = await client.createNote(text, { contentType, expireSec: 3600, maxViews: 1 });
    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
  }

  const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

  test.each([
    ['Text', 'text', 'Just <b>text</b>'],
    ['Markdown', 'markdown', '# Title\n\n- one'],
    ['Code', 'code', 'let a = 1;'],
  ])('a note of the kind %s arrives as it was written', async (label, contentType, text) => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await begin(page, label);
    await page.getByLabel('The note').fill(text);
    const note = await client.viewNote(await finish(page));
    expect(note).toMatchObject({ text, contentType });
    expect(watched.faults).toEqual([]);
  });

  test('markdown is shown as what it means, and its writer sees that before', async () => {
    const text =
      '# Plan\n\nA **bold** [link](https://example.org/x) and `code`.\n\n|a|b|\n|-|-:|\n|1|2|\n\n```js\nconst a = 1;\n```';
    await using watched = await openPage(browser);
    const { page } = watched;
    await begin(page, 'Markdown');
    await page.getByLabel('The note').fill(text);
    await page.getByText('Preview').click();
    await page.locator('[data-formatted=markdown] table').waitFor();
    expect(await problemsOfLooks(page, 'send-markdown')).toEqual([]);

    await receive(page, text, 'markdown');
    const note = page.locator('[data-formatted=markdown]');
    await note.getByRole('heading', { name: 'Plan' }).waitFor();
    expect(await note.locator('strong').textContent()).toBe('bold');
    expect(await note.locator('pre .hljs-keyword').textContent()).toBe('const');
    const link = note.getByRole('link', { name: 'link' });
    expect(await link.getAttribute('href')).toBe('https://example.org/x');
    expect(await link.getAttribute('rel')).toContain('noopener noreferrer');
    expect(await problemsOfLooks(page, 'note-markdown')).toEqual([]);
    expect(watched.faults).toEqual([]);
  });

  test('a hostile note runs nothing, loads nothing and styles nothing', async () => {
    const text = [
      '<script>globalThis.hacked = 1</script>',
      '<img src="https://tracker.example/i.png" onerror="globalThis.hacked = 1">',
      '<style>* { display: none }</style>',
      '![pixel](https://tracker.example/pixel.png)',
      '[click](javascript:globalThis.hacked=1)',
      '[![x](https://tracker.example/y.png)](data:text/html,<script>hacked=1</script>)',
      '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>',
    ].join('\n\n');
    await using watched = await openPage(browser);
    const { page } = watched;
    for (const contentType of ['markdown', 'code', 'text', 'password', 'sshkey'] as const) {
      await receive(page, text, contentType);
      const shown = contentType === 'markdown' || contentType === 'code' ? '[data-formatted]' : '[data-note]';
      await page.locator(shown).first().waitFor();
      expect(await page.evaluate(() => Reflect.get(globalThis, 'hacked'))).toBeUndefined();
      expect(await page.locator('main').locator('img, script, style, iframe, [onerror]').count()).toBe(0);
      const leads = await page.locator('main a').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      expect(leads.filter((href) => !/^(https:|\/)/.test(href ?? ''))).toEqual([]);
    }
    expect(watched.requests.filter((request) => request.includes('tracker.example'))).toEqual([]);
    expect(watched.faults).toEqual([]);
  });

  test('a note that would take for ever is shown as it was written, and the page does not wait for it', async () => {
    // Some grammars need time that grows with the square of such a text.
    const text = `\`\`\`c\n${'a '.repeat(45_000)}\n\`\`\`\n`.repeat(8);
    await using watched = await openPage(browser, CLIPBOARD);
    const { page } = watched;
    await receive(page, text, 'markdown');
    await page.getByRole('button', { name: 'Copy the note' }).click();
    await page.getByText('Copied').waitFor();
    expect(await clipboard(page)).toBe(text);
    await page.getByText('It could not be formatted, so it is shown as it was written.').waitFor();
    expect(await page.locator('[data-note]').textContent()).toBe(text);
    expect(watched.faults).toEqual([]);
  });

  test('code is coloured by a language that is guessed or chosen, and can be copied', async () => {
    const text = 'import os\n\ndef main(args):\n    return [x for x in args if x is not None]\n';
    await using watched = await openPage(browser, CLIPBOARD);
    const { page } = watched;
    await receive(page, text, 'code');
    const code = page.locator('[data-formatted=code]');
    await code.locator('.hljs-keyword', { hasText: 'import' }).waitFor();
    expect(await code.textContent()).toBe(text);
    expect(await page.getByLabel('Language of the code').locator('option:checked').textContent()).toBe(
      'Guessed: python',
    );
    expect(await problemsOfLooks(page, 'note-code')).toEqual([]);
    await page.getByLabel('Language of the code').selectOption('json');
    await code.locator('.hljs-keyword', { hasText: 'import' }).waitFor({ state: 'detached' });
    expect(await code.textContent()).toBe(text);
    await page.getByRole('button', { name: 'Copy the note' }).click();
    await page.getByText('Copied').waitFor();
    expect(await clipboard(page)).toBe(text);
    expect(watched.faults).toEqual([]);
  });

  test('a password is generated, sent, hidden until it is wanted, and copied', async () => {
    await using watched = await openPage(browser, CLIPBOARD);
    const { page } = watched;
    await begin(page, 'Password');
    await page.getByText('Generate a password').first().click();
    await page.getByText('55 bits: one of 2 to the power of 55').waitFor();
    const words = await page.locator('[data-generated]').textContent();
    expect(words).toMatch(/^[a-z]{3,8}(-[a-z]{3,8}){4}$/);
    await page.getByText('made by chance, 55 bits').waitFor();
    await page.getByLabel('Characters', { exact: true }).check();
    await page.getByText('93 bits').first().waitFor();
    await page.getByLabel('16 characters').press('ArrowRight');
    await page.getByLabel('17 characters').waitFor();
    await page.locator('[data-generated]', { hasText: /^.{17}$/ }).waitFor();
    expect(await problemsOfLooks(page, 'send-password')).toEqual([]);
    const password = (await page.locator('[data-generated]').textContent()) ?? '';
    const link = await finish(page);
    expect(watched.requests.filter((request) => request.includes(password))).toEqual([]);

    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.locator('[data-note]').waitFor();
    expect(await page.locator('main').textContent()).not.toContain(password);
    await page.getByRole('button', { name: 'Copy the note' }).click();
    await page.getByText('Copied').waitFor();
    expect(await clipboard(page)).toBe(password);
    await page.getByRole('button', { name: 'Show' }).click();
    expect(await page.locator('[data-note]').textContent()).toBe(password);
    expect(await problemsOfLooks(page, 'note-password')).toEqual([]);
    expect(watched.faults).toEqual([]);
  });

  test('a password of somebody’s own is judged', async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(service.baseUrl);
    const field = page.getByLabel('Password', { exact: false }).first();
    await field.fill('Sommer2024');
    await page.getByText('Weak:').first().waitFor();
    await field.fill('blue tiger under seven bridges');
    await page.getByText('Strong:').first().waitFor();
    expect(watched.faults).toEqual([]);
  });

  test('a new SSH key goes to its reader, and its public line stays with its writer', async () => {
    await using watched = await openPage(browser, CLIPBOARD);
    const { page } = watched;
    await begin(page, 'SSH key');
    await page.getByLabel('Comment in the key').fill('anna@example');
    await page.getByRole('button', { name: 'Make a new key pair (Ed25519)' }).click();
    const publicLine = await page.locator('[data-public-key]').textContent();
    expect(publicLine).toMatch(/^ssh-ed25519 [A-Za-z0-9+/]{68} anna@example$/);
    expect(await problemsOfLooks(page, 'send-ssh-key')).toEqual([]);
    const privateKey = await page.getByLabel('The note').inputValue();
    const link = await finish(page);

    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    const facts = await describeSshKey(privateKey);
    await page.getByText(facts?.fingerprint ?? 'none').waitFor();
    expect(publicLine).toContain(facts?.publicKey);
    expect(await page.locator('main').textContent()).not.toContain('PRIVATE KEY');
    await page.getByRole('button', { name: 'Copy the private key' }).click();
    await page.getByText('Copied').waitFor();
    expect(await clipboard(page)).toBe(privateKey);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as a file' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('id_ed25519');
    await page.getByRole('button', { name: 'Show the private key' }).click();
    expect(await page.locator('[data-note]').textContent()).toBe(privateKey);
    expect(await problemsOfLooks(page, 'note-ssh-key')).toEqual([]);
    expect(watched.faults).toEqual([]);
  });
});
