import type { NoteContentType } from '@mayfly/client';
import { makeOldNote } from '@mayfly/testing/old-note';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeSshKey } from '../../apps/web/src/note-formats/ssh-key.ts';
import { hurried } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { protect, shownLink } from './sending.ts';

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };

describeWeb('kinds of notes in a browser', { shapes: ['all'] }, (web) => {
  const shared = web.sharePage(CLIPBOARD);

  async function begin(page: Page, label: string) {
    await page.goto(web.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.getByLabel('Kind of note').selectOption({ label });
  }

  async function finish(page: Page): Promise<string> {
    await page.getByRole('button', { name: 'Encrypt and make a link' }).click();
    return shownLink(page);
  }

  async function receive(page: Page, text: string, contentType: NoteContentType) {
    const { link } = await web.client.createNote(text, { contentType, expireSec: 3600, maxViews: 1 });
    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
  }

  const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

  test.each([
    ['Text', 'text', 'Just <b>text</b>'],
    ['Markdown', 'markdown', '# Title\n\n- one'],
    ['Code', 'code', 'let a = 1;'],
  ])('a note of the kind %s arrives as it was written', async (label, contentType, text) => {
    const page = shared();
    await begin(page, label);
    await page.getByLabel('The note').fill(text);
    const note = await web.client.viewNote(await finish(page));
    expect(note).toMatchObject({ text, contentType });
  });

  test('markdown is shown as what it means, and its writer sees that before', async () => {
    const text =
      '# Plan\n\nA **bold** [link](https://example.org/x) and `code`.\n\n|a|b|\n|-|-:|\n|1|2|\n\n```js\nconst a = 1;\n```';
    const page = shared();
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
  });

  test('tasks have their boxes, and an address in a text can be followed without telling where from', async () => {
    const page = shared();
    await receive(page, '- [ ] pack\n- [x] book', 'markdown');
    await page.locator('[data-formatted=markdown]').waitFor();
    expect(await page.locator('li.task').allTextContents()).toEqual(['☐ pack', '☑ book']);
    const text = 'See (https://example.org/a_(b)?c=d#e), or mailto:me@example.org.\njavascript:alert(1) <b>';
    await receive(page, text, 'text');
    const note = page.locator('[data-note]');
    await note.waitFor();
    expect(await note.textContent()).toBe(text);
    const links = await note
      .locator('a')
      .evaluateAll((all) =>
        all.map((link) => ['href', 'rel', 'referrerpolicy'].map((name) => link.getAttribute(name))),
      );
    const how = ['noopener noreferrer nofollow', 'no-referrer'];
    expect(links).toEqual([
      ['https://example.org/a_(b)?c=d#e', ...how],
      ['mailto:me@example.org', ...how],
    ]);
    expect(await problemsOfLooks(page, 'note-text-links')).toEqual([]);
  });

  test('what kind it is, is not said before it is read, but for a note with an old link', async () => {
    const page = shared();
    const kind = page.getByText('Kind of note');
    const { link } = await web.client.createNote('# T', { contentType: 'markdown', expireSec: 3600, maxViews: 1 });
    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).waitFor();
    expect([await kind.count(), await page.getByText('Markdown').count()]).toEqual([0, 0]);
    await page.goto('about:blank');
    await page.goto(await makeOldNote(web.baseUrl, '# T', { contentType: 'markdown' }));
    await kind.waitFor();
    await page.getByText('Markdown').waitFor();
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.locator('[data-formatted=markdown]').getByRole('heading', { name: 'T' }).waitFor();
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
    await using page = await web.open();
    for (const contentType of ['markdown', 'code', 'text', 'password', 'sshkey'] as const) {
      await receive(page, text, contentType);
      const shown = contentType === 'markdown' || contentType === 'code' ? '[data-formatted]' : '[data-note]';
      await page.locator(shown).first().waitFor();
      expect(await page.evaluate(() => Reflect.get(globalThis, 'hacked'))).toBeUndefined();
      expect(await page.locator('main').locator('img, script, style, iframe, [onerror]').count()).toBe(0);
      const leads = await page.locator('main a').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      expect(leads.filter((href) => !/^(https:|\/)/.test(href ?? ''))).toEqual([]);
    }
    expect(page.sent.filter((request) => request.includes('tracker.example'))).toEqual([]);
  });

  test('a note that would take for ever is shown as it was written, and the page does not wait for it', async () => {
    // Some grammars need time that grows with the square of such a text.
    const text = `\`\`\`c\n${'a '.repeat(45_000)}\n\`\`\`\n`.repeat(8);
    await using page = await web.open(CLIPBOARD, (context) => context.addInitScript(hurried(10_000, 2_000)));
    await receive(page, text, 'markdown');
    await page.getByRole('button', { name: 'Copy the note' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard(page)).toBe(text);
    await page.getByText('It could not be formatted, so it is shown as it was written.').waitFor();
    expect(await page.locator('[data-note]').textContent()).toBe(text);
  });

  test('code is coloured by a language that is guessed or chosen, and can be copied', async () => {
    const text = 'import os\n\ndef main(args):\n    return [x for x in args if x is not None]\n';
    const page = shared();
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
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard(page)).toBe(text);
  });

  test('a password is generated, sent, hidden until it is wanted, and copied', async () => {
    await using page = await web.open(CLIPBOARD);
    await begin(page, 'Password');
    // What is sent and what protects it are two things, and are called so.
    await page.getByRole('button', { name: 'Add a password' }).click();
    await page.getByLabel('Password for opening it').waitFor();
    await page.getByText('Generate a password for opening it').waitFor();
    await page.getByRole('button', { name: 'Remove the password' }).click();
    await page.getByLabel('The password to send').waitFor();
    await page.getByText('Generate a password to send').click();
    await page.getByText('Very hard to guess').first().waitFor();
    const words = await page.locator('[data-generated]').textContent();
    expect(words).toMatch(/^[a-z]{3,8}(-[a-z]{3,8}){4}$/);
    await page.getByLabel('Characters', { exact: true }).check();
    await page.locator('[data-generated]', { hasText: /^.{16}$/ }).waitFor();
    await page.getByLabel('16 characters').press('ArrowRight');
    await page.getByLabel('17 characters').waitFor();
    await page.locator('[data-generated]', { hasText: /^.{17}$/ }).waitFor();
    expect(await problemsOfLooks(page, 'send-password')).toEqual([]);
    const password = (await page.locator('[data-generated]').textContent()) ?? '';
    const link = await finish(page);
    expect(page.sent.filter((request) => request.includes(password))).toEqual([]);

    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.locator('[data-note]').waitFor();
    expect(await page.locator('main').textContent()).not.toContain(password);
    await page.getByRole('button', { name: 'Copy the note' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard(page)).toBe(password);
    await page.getByRole('button', { name: 'Show' }).click();
    expect(await page.locator('[data-note]').textContent()).toBe(password);
    expect(await problemsOfLooks(page, 'note-password')).toEqual([]);
  });

  test('a password of somebody’s own is judged', async () => {
    const page = shared();
    await page.goto(web.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await protect(page, 'Sommer2024');
    const field = page.getByLabel('Password', { exact: true });
    await page.getByText('Easy to guess').first().waitFor();
    await field.fill('blue tiger under seven bridges');
    await page.getByText('Very hard to guess').first().waitFor();
  });

  test('a new SSH key goes to its reader, and its public line stays with its writer', async () => {
    const page = shared();
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
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard(page)).toBe(privateKey);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as a file' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('id_ed25519');
    await page.getByRole('button', { name: 'Show the private key' }).click();
    expect(await page.locator('[data-note]').textContent()).toBe(privateKey);
    expect(await problemsOfLooks(page, 'note-ssh-key')).toEqual([]);
  });
});
