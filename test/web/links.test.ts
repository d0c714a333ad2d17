import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';

const SETTINGS = { TOKEN_FAILURES_MAX: '2', TOMBSTONE_TTL_SEC: '3600' };

/** Whole, and with a protection that nobody knows yet. */
const NEWER =
  'https://mayfly.example/d/0f8fad5b-d9cb-469f-a165-70867728950e#AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh__idyH';

const withWrongLetter = (link: string) => link.replace(/#(.)/, (_, letter) => `#${letter === 'A' ? 'B' : 'A'}`);

describeWeb('links that open nothing', { shapes: ['all'], settings: SETTINGS }, (web) => {
  const file = () => [new File(['content'], 'a.txt')];
  const stay = { expireSec: 3600, maxDownloads: 1 };
  const noteStay = { expireSec: 3600, maxViews: 1 };
  /** Old links have no check. */
  const otherKey = (link: string) => `${link.split('#')[0]}#${'B'.repeat(42)}A`;

  const LINKS: { what: string; problem: string; sentence: RegExp; make: () => Promise<string> }[] = [
    {
      what: 'an upload that never was',
      problem: 'not-found',
      sentence: /deleted it, or it expired long ago/,
      make: async () => `${web.baseUrl}/d/00000000-0000-4000-8000-000000000000#${'A'.repeat(43)}`,
    },
    {
      what: 'a note that never was',
      problem: 'not-found',
      sentence: /deleted it, or it expired long ago/,
      make: async () => `${web.baseUrl}/n/00000000-0000-4000-8000-000000000000#${'A'.repeat(43)}`,
    },
    {
      what: 'an upload whose time is over',
      problem: 'expired',
      sentence: /This link has expired/,
      make: async () => {
        const { link } = await web.client.uploadFiles(file(), { expireSec: 1, maxDownloads: 1 });
        await expect
          .poll(() => web.client.getInfo(link).catch(({ code }) => code), { timeout: 30_000 })
          .toBe('expired');
        return link;
      },
    },
    {
      what: 'a note whose time is over',
      problem: 'expired',
      sentence: /This link has expired/,
      make: async () => {
        const { link } = await web.client.createNote('text', { expireSec: 1, maxViews: 1 });
        await expect
          .poll(() => web.client.getNote(link).catch(({ code }) => code), { timeout: 30_000 })
          .toBe('expired');
        return link;
      },
    },
    {
      what: 'an upload that was downloaded as often as it may',
      problem: 'used-up',
      sentence: /as often as its sender allowed/,
      make: async () => {
        const { link } = await web.client.uploadFiles(file(), stay);
        await new Response((await web.client.download(link)).payload).arrayBuffer();
        return link;
      },
    },
    {
      what: 'a note that was read as often as it may',
      problem: 'used-up',
      sentence: /as often as its sender allowed/,
      make: async () => {
        const { link } = await web.client.createNote('text', noteStay);
        await web.client.viewNote(link);
        return link;
      },
    },
    {
      what: 'an upload with the key of another',
      problem: 'wrong-token',
      sentence: /The key is wrong.*after the # is not the right one/,
      make: async () => otherKey((await web.client.uploadFiles(file(), stay)).link),
    },
    {
      what: 'an upload with half a key',
      problem: 'damaged-link',
      sentence: /incomplete or was changed.*Copy the whole link again/,
      make: async () => (await web.client.uploadFiles(file(), stay)).link.slice(0, -20),
    },
    {
      what: 'a note with a wrong letter in its key',
      problem: 'damaged-link',
      sentence: /incomplete or was changed/,
      make: async () => withWrongLetter((await web.client.createNote('text', noteStay)).link),
    },
    {
      what: 'a link of a newer Mayfly',
      problem: 'newer-format',
      sentence: /sent with a newer version of Mayfly/,
      make: async () => NEWER.replace('https://mayfly.example', web.baseUrl),
    },
    {
      what: 'something that is no id',
      problem: 'damaged-link',
      sentence: /incomplete or was changed/,
      make: async () => `${web.baseUrl}/d/1234#${'A'.repeat(43)}`,
    },
  ];

  const shared = web.sharePage();

  test.each(LINKS)('$what is said in one sentence', async ({ problem, sentence, make }) => {
    const page = shared();
    await page.goto(await make());
    const found = page.locator(`[data-problem=${problem}]`);
    await found.waitFor();
    expect(await found.textContent()).toMatch(sentence);
  });

  test('a link that is damaged can be put right on its page, and opens', async () => {
    const { link } = await web.client.createNote('the text', noteStay);
    await using page = await web.open();
    for (const damaged of [withWrongLetter(link), link.slice(0, -5), link.replace('#', '1#')]) {
      await page.goto(damaged);
      await page.locator('[data-problem=damaged-link]').waitFor();
      expect(await page.getByRole('button', { name: 'Read the note' }).count()).toBe(0);
    }
    await page.getByRole('textbox', { name: 'Link' }).fill(` ${link}\n`);
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('the text').waitFor();
  });

  test('a note with the key of another stays unread', async () => {
    const created = await web.client.createNote('text', noteStay);
    const page = shared();
    await page.goto(otherKey(created.link));
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.locator('[data-problem=wrong-token]').waitFor();
    expect((await web.client.getUsage(created)).usedCount).toBe(0);
  });

  test('where nobody can say whether the key is wrong or the upload was changed, both are named', async () => {
    const { link } = await web.client.uploadFiles(file(), stay);
    await using page = await web.open();
    await page.route('**/api/lease/*', (route) => route.fulfill({ status: 404, json: { error: 'Not Found' } }));
    await page.goto(otherKey(link));
    const found = page.locator('[data-problem=key-or-tampered]');
    await found.waitFor();
    expect(await found.textContent()).toMatch(/The key does not fit, or the upload was changed/);
  });

  test('too many wrong passwords lock this visitor out for a while, and nothing is used up', async () => {
    const created = await web.client.createNote('text', { ...noteStay, password: 'right' });
    const page = shared();
    await page.goto(created.link);
    for (const guess of ['one', 'two']) {
      await page.getByLabel('Password').fill(guess);
      await page.getByRole('button', { name: 'Unlock' }).click();
      await page.getByText('That is not the password').waitFor();
    }
    await page.getByLabel('Password').fill('right');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByText(/Too many wrong attempts from here. Try again in \d+ minutes/).waitFor();
    expect((await web.client.getUsage(created)).usedCount).toBe(0);
  });

  test('a page that came without HTTPS says that it cannot encrypt', async () => {
    await using page = await web.visit(web.baseUrl, {}, (context) =>
      context.addInitScript(() => Object.defineProperty(globalThis, 'isSecureContext', { get: () => false })),
    );
    await page.locator('[data-problem=insecure-context]').waitFor();
  });

  test('an upload that is being finished is not called broken', async () => {
    const { link } = await web.client.uploadFiles(file(), stay);
    await using page = await web.open();
    await page.route('**/api/info/*', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), encryptedMeta: null, nonce: null } });
    });
    await page.goto(link);
    await page.locator('[data-problem=not-finished]').waitFor();
  });

  test('an answer that no Mayfly service gives is told as one, and nothing of it is shown', async () => {
    const upload = await web.client.uploadFiles(file(), stay);
    const note = await web.client.createNote('text', noteStay);
    const hostile = '<img src=x onerror="document.title=1">owned';
    await using page = await web.open();
    for (const [link, path, change] of [
      [upload.link, '**/api/info/*', { fileCount: hostile, maxDownloads: hostile }],
      [upload.link, '**/api/info/*', { size: 'x'.repeat(3_000_000) }],
      [note.link, '**/api/note/*', { contentType: hostile, maxViews: hostile }],
      [note.link, '**/api/note/*', { viewCount: -1 }],
    ] as const) {
      await page.route(path, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...(await answer.json()), ...change } });
      });
      await page.goto(link);
      await page.reload();
      await page.locator('[data-problem=bad-answer]').waitFor();
      expect(await page.locator('body').textContent()).not.toContain('owned');
      await page.unroute(path);
    }
  });
});

describeWeb('what a link tells a messenger that shows a preview of it', { shapes: ['all'] }, (web) => {
  test('is what the first page tells: nothing of the item', async () => {
    const { link } = await web.client.uploadFiles([new File(['x'], 'plan.txt')], { expireSec: 3600, maxDownloads: 1 });
    const read = async (address: string) =>
      (await fetch(address, { headers: { accept: 'text/html', 'user-agent': 'a messenger' } })).text();
    const first = await read(web.baseUrl);
    expect(first).toContain('<meta property="og:title" content="Mayfly">');
    expect(await read(link.split('#')[0] ?? '')).toBe(first);
    expect((await web.client.getInfo(link)).downloadCount).toBe(0);
  });
});
