import { unusedPort } from '@mayfly/local-stores/ports';
import { inSuite } from '@mayfly/testing/in-suite';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { CLIENT, startIdentityProvider } from '../support/identity-provider.ts';
import { askForFiles } from './asking.ts';
import { describeWeb, type Web } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { chooseFiles, shownLink } from './sending.ts';

const FILE = { name: 'a.txt', buffer: Buffer.from('guarded') };
const NEEDED = /^Sending from this page takes an account/;
const SIGNED_IN = /^You are signed in, for some time/;

const port = await unusedPort();
const provider = inSuite(() => startIdentityProvider(port));

const settings = {
  CREATE_GUARD: 'oidc',
  OIDC_ISSUER: `http://127.0.0.1:${port}`,
  OIDC_CLIENT_ID: CLIENT.id,
  OIDC_CLIENT_SECRET: CLIENT.secret,
  OIDC_SCOPE: 'openid groups',
  OIDC_CLAIM: 'groups',
  OIDC_CLAIM_VALUES: 'staff',
};

const link = (page: Page) => page.getByRole('link', { name: 'Sign in to send' });
const send = (page: Page) => page.getByRole('button', { name: 'Encrypt and send' }).click();

/** Opens the other tab, and answers it at the provider's page. */
async function goToProvider(page: Page, name: string): Promise<Page> {
  Object.assign(provider().people, { next: name, asks: true });
  const [tab] = await Promise.all([page.context().waitForEvent('page'), link(page).click()]);
  await tab.getByRole('link', { name: `Sign in as ${name}` }).waitFor();
  expect(new URL(tab.url()).origin).toBe(settings.OIDC_ISSUER);
  return tab;
}

async function signIn(page: Page) {
  const tab = await goToProvider(page, 'anna');
  await tab.getByRole('link').click();
  await page.getByText(SIGNED_IN).waitFor();
}

/** Answers of the service that set a cookie, and requests to it that bear a token, as they come. */
function watch(page: Page, web: Web) {
  const seen = { cookies: [] as string[], bearing: [] as string[] };
  page.context().on('response', async (response) => {
    if (!response.url().startsWith(web.baseUrl)) return;
    const headers = await response.allHeaders().catch(() => undefined); // the page may be closed by now
    if (headers?.['set-cookie']) seen.cookies.push(response.url());
  });
  page.context().on('request', (request) => {
    if (request.headers().authorization?.startsWith('Bearer mfo_')) seen.bearing.push(new URL(request.url()).pathname);
  });
  return seen;
}

describeWeb('a page where sending takes a sign-in', { shapes: ['all'], settings }, (web) => {
  test('signs in in another tab, and sends what was chosen before', async () => {
    await using page = await web.open();
    const seen = watch(page, web);
    await page.goto(web.baseUrl);
    await page.getByText(NEEDED).waitFor();
    await chooseFiles(page, [FILE]);
    await send(page);
    await page.getByText('Sign in first, then send.').waitFor();
    expect(await link(page).evaluate((element) => element === document.activeElement)).toBe(true);
    expect(page.sent.filter((text) => text.includes('POST') && text.includes('/api/upload'))).toEqual([]);
    expect(await problemsOfLooks(page, 'sign-in')).toEqual([]);

    await signIn(page);
    expect(await link(page).count()).toBe(0);
    await page.getByText('a.txt').first().waitFor();
    await send(page);
    const sent = await shownLink(page);
    expect((await web.client.getInfo(sent)).metadata?.files[0]?.name).toBe('a.txt');
    expect(seen).toEqual({ cookies: [], bearing: ['/api/upload'] });
    const kept = await page.evaluate(async () => [
      JSON.stringify(localStorage),
      ...(await indexedDB.databases()).map(({ name }) => name),
    ]);
    expect(kept.join()).not.toContain('mfo_');
  });

  test('a text that was typed is still there, and is sent; so is a request for files', async () => {
    await using page = await web.visit(web.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.locator('textarea').fill('what was typed');
    await signIn(page);
    expect(await page.locator('textarea').inputValue()).toBe('what was typed');
    await page.getByRole('button', { name: /^Encrypt/ }).click();
    const sent = await shownLink(page);
    expect(sent).toContain('/n/');
    expect((await askForFiles(page, web.baseUrl, 'Papers')).dropLink).toContain('/r/'); // this tab is still signed in
  });

  test('a token that has ended is asked for again, and nothing that was chosen is lost', async () => {
    await using page = await web.visit(web.baseUrl);
    const ended = `mfo_${Date.now() - 1_000}.${'A'.repeat(80)}`;
    await page.evaluate((token) => sessionStorage.setItem('mayfly-create-key', token), ended);
    await page.reload();
    await page.getByText(SIGNED_IN).waitFor();
    await chooseFiles(page, [FILE]);
    await send(page);
    await page.getByText(NEEDED).waitFor();
    await page.getByText('a.txt').first().waitFor();
    await signIn(page);
    await send(page);
    await shownLink(page);
  });

  test('an account that may not send is told so, and may try as another', async () => {
    await using page = await web.visit(web.baseUrl);
    const tab = await goToProvider(page, 'guest');
    await tab.getByRole('link').click();
    await tab.getByRole('heading', { name: 'This account may not send from this page' }).waitFor();
    expect(tab.url()).toBe(`${web.baseUrl}/signin`);
    expect(await problemsOfLooks(tab, 'sign-in-forbidden')).toEqual([]);
    provider().people.next = 'anna';
    await tab.getByRole('link', { name: 'Use another account' }).click();
    await tab.getByRole('link', { name: 'Sign in as anna' }).click();
    await page.getByText(SIGNED_IN).waitFor();
  });

  test('an answer that this tab has not asked for signs nobody in', async () => {
    await using page = await web.visit(`${web.baseUrl}/signin?code=of-somebody&state=else`);
    await page.getByRole('heading', { name: 'Signing in did not work' }).waitFor();
    expect(page.url()).toBe(`${web.baseUrl}/signin`);
    expect(page.sent.filter((text) => text.includes('/api/session'))).toEqual([]);

    await page.goto(web.baseUrl);
    const tab = await goToProvider(page, 'anna');
    await tab.goto(`${web.baseUrl}/signin?code=of-somebody&state=else`);
    await tab.getByRole('heading', { name: 'Signing in did not work' }).waitFor();
    expect(await page.getByText(SIGNED_IN).count()).toBe(0);
  });
});
