import { formatLink, parseLink } from '@mayfly/client';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';

describeWeb('what a link says of its password', { shapes: ['all'] }, (web) => {
  const KINDS = [
    ['file', 'upload'],
    ['note', 'note'],
  ] as const;
  const salt = Buffer.alloc(16, 1).toString('base64url');
  const invented = { hasPassword: true, passwordAlgo: 'argon2id', passwordSalt: salt };
  const hidden = { hasPassword: false, passwordAlgo: null, passwordSalt: null };

  async function make(kind: 'upload' | 'note', options: { password?: string; passwordAlgo?: 'pbkdf2' } = {}) {
    const { client } = web;
    if (kind === 'note') return client.createNote('the text', { expireSec: 3600, maxViews: 2, ...options });
    return client.uploadFiles([new File(['content'], 'a.txt')], { expireSec: 3600, maxDownloads: 2, ...options });
  }

  const asOld = async (link: string) => formatLink({ ...(await parseLink(link)), protection: undefined });

  /** A service that says of its items what it likes. */
  async function lie(page: Page, says: object) {
    const pattern = /\/api\/(info|note)\/[^/]*$/;
    await page.route(pattern, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), ...says } });
    });
  }

  const opened = (page: Page) => page.getByRole('button', { name: /^(Read the note|Download)$/ });

  test.each(KINDS)('a service that invents a password gets none: %s', async (_, kind) => {
    const { link, id } = await make(kind);
    await using page = await web.open();
    await lie(page, invented);
    await page.goto(link);
    await page.locator('[data-problem=tampered]').waitFor();
    expect(await page.locator('input').count()).toBe(0);
    expect(page.sent.filter((request) => request.startsWith('POST'))).toEqual([]);
    expect((await web.client.getUsage({ kind, id })).usedCount).toBe(0);
  });

  test.each(KINDS)('a service that hides one is found out: %s', async (_, kind) => {
    const { link } = await make(kind, { password: 'right' });
    await using page = await web.open();
    await lie(page, hidden);
    await page.goto(link);
    await page.locator('[data-problem=tampered]').waitFor();
    expect(await opened(page).count()).toBe(0);
    expect(page.sent.filter((request) => request.startsWith('POST'))).toEqual([]);
  });

  test.each(KINDS)('an old link opens as it did: %s', async (_, kind) => {
    await using page = await web.visit(await asOld((await make(kind)).link));
    await opened(page).waitFor();
    await page.goto(await asOld((await make(kind, { password: 'right' })).link));
    await page.getByLabel('Password').fill('right');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await opened(page).waitFor();
  });

  test.each(KINDS)('before a password by pbkdf2 is asked for, its reader is: %s', async (_, kind) => {
    await using page = await web.open();
    const { link } = await make(kind, { password: 'right', passwordAlgo: 'pbkdf2' });
    for (const text of [link, await asOld(link)]) {
      await page.goto('about:blank');
      await page.goto(text);
      await page.locator('[data-problem=weak-password-algo]').waitFor();
      expect(await page.getByLabel('Password').count()).toBe(0);
      await page.getByRole('button', { name: 'Enter it all the same' }).click();
      await page.getByLabel('Password').fill('right');
      await page.getByRole('button', { name: 'Unlock' }).click();
      await opened(page).waitFor();
    }
  });
});
