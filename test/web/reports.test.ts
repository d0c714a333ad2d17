import { newOperatorKeys } from '@mayfly/client/reports';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { runAdmin } from '../support/admin-command.ts';
import { askForFiles, openList } from './asking.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { chooseFiles, shownLink } from './sending.ts';

const keys = await newOperatorKeys();
const stay = { expireSec: 3600, maxDownloads: 3 };
const file = () => new File(['look'], 'look.txt');
const idOf = (link: string) => new URL(link).pathname.split('/').at(-1) ?? '';

describeWeb('reports', { shapes: ['all'], settings: { REPORTS: 'on', REPORT_PUBLIC_KEY: keys.publicKey } }, (web) => {
  const admin = async (args: string[], more: Record<string, string> = {}) => {
    const { databaseUrl, blobs } = web.running;
    const settings = { DATABASE_URL: databaseUrl, ...blobs.settings, BASE_URL: web.baseUrl, ...more };
    const { code, stdout } = await runAdmin([...args, '--json'], settings);
    return { code, facts: JSON.parse(stdout) };
  };
  const reportsOf = async (id: string) =>
    (await admin(['reports'])).facts.filter(({ report }: { report: string }) => report.startsWith(id));
  const button = (page: Page) => page.getByRole('button', { name: 'Report this' });

  async function report(page: Page, kind: string, { text = '', isDisclosed = false } = {}) {
    await button(page).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('What is it about?').selectOption({ label: kind });
    if (text) await dialog.getByLabel('What should the operator know?').fill(text);
    if (isDisclosed) await dialog.getByLabel('Show the operator what this link opens').check();
    await dialog.getByRole('button', { name: 'Send the report' }).click();
    await dialog.getByRole('heading', { name: 'The report has been sent' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  test('a file is reported without its link, which the service never sees, and nothing is spent', async () => {
    const { id, link } = await web.client.uploadFiles([file()], stay);
    await using page = await web.visit(link);
    await page.getByRole('heading', { name: 'look.txt' }).waitFor();
    await report(page, 'Harmful software', { text: 'It wants to be installed.' });
    expect(await reportsOf(id)).toMatchObject([
      { kind: 'malware', text: 'It wants to be installed.', item: 'upload', isDisclosed: false },
    ]);
    const fragment = link.slice(link.indexOf('#') + 1);
    expect(page.sent.filter((request) => request.includes(fragment))).toEqual([]);
    await page.getByText('3 of 3').waitFor();
  });

  test('a link that is disclosed is opened by the operator, and seen by nobody in between', async () => {
    const { id, link } = await web.client.createNote('a canary', { expireSec: 3600, maxViews: 2 });
    await using page = await web.visit(link);
    await page.getByRole('button', { name: 'Read the note' }).waitFor();
    await report(page, 'Phishing or fraud', { isDisclosed: true });
    const fragment = link.slice(link.indexOf('#') + 1);
    expect(page.sent.filter((request) => request.includes(fragment))).toEqual([]);
    const opened = await admin(['open', `${id}/1`], { REPORT_PRIVATE_KEY: keys.privateKey });
    expect(opened).toMatchObject({ code: 0, facts: { verdict: 'genuine', link } });
  });

  test('a request is reported by whoever is asked, and not by whoever asks', async () => {
    await using page = await web.open();
    const { dropLink, keepLink } = await askForFiles(page, web.baseUrl, 'Your papers');
    await page.goto(dropLink);
    await page.getByRole('heading', { name: 'Your papers' }).waitFor();
    await report(page, 'Something else', { isDisclosed: true });
    const opened = await admin(['open', `${idOf(dropLink)}/1`], { REPORT_PRIVATE_KEY: keys.privateKey });
    expect(opened).toMatchObject({ code: 0, facts: { verdict: 'genuine', link: dropLink } });
    await page.goto('about:blank');
    await page.goto(keepLink);
    await page.getByText('Nothing has arrived yet').waitFor();
    expect(await button(page).count()).toBe(0);

    await admin(['block', idOf(dropLink), '--reason', 'phishing']);
    await page.goto('about:blank');
    await page.goto(dropLink);
    await page.getByRole('heading', { name: 'Removed by the operator' }).waitFor();
    await openList(page, web.baseUrl);
    await page.locator('[data-ended] summary').click();
    await page.locator('[data-state=blocked]').getByText('Removed by the operator').waitFor();
  });

  test('what is blocked says so, and why, to whoever has its link, and to whoever sent it', async () => {
    await using page = await web.visit(web.baseUrl);
    await chooseFiles(page, [{ name: 'mine.txt', buffer: Buffer.from('mine') }]);
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    const link = await shownLink(page);
    await admin(['block', idOf(link), '--reason', 'copyright']);
    await page.goto(link);
    await page.getByRole('heading', { name: 'Removed by the operator' }).waitFor();
    await page.getByText('Reason: Infringed copyright.').waitFor();
    await button(page).waitFor({ state: 'hidden' }); // whoever runs the service knows of it
    expect(await problemsOfLooks(page, 'blocked')).toEqual([]);
    await openList(page, web.baseUrl);
    await page.locator('[data-ended] summary').click();
    await page.locator('[data-state=blocked]').getByText('Removed by the operator').waitFor();

    const { link: note, id } = await web.client.createNote('gone', { expireSec: 3600, maxViews: 1 });
    await admin(['block', id, '--reason', 'malware']);
    await page.goto(note);
    await page.getByText('Reason: Harmful software').waitFor();
    await admin(['unblock', id]);
    await page.reload();
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  });

  test('a report that does not arrive can be sent again; the way there and back is for everybody', async () => {
    const { id, link } = await web.client.uploadFiles([file()], stay);
    await using page = await web.visit(link);
    await button(page).click();
    const dialog = page.getByRole('dialog');
    expect(await problemsOfLooks(page, 'report')).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.route('**/api/report/*', (route) => route.abort(), { times: 1 });
    await button(page).click();
    expect(await dialog.getByRole('button', { name: 'Send the report' }).isDisabled()).toBe(true);
    await dialog.getByLabel('What is it about?').selectOption({ label: 'Something else' });
    await dialog.getByLabel('What should the operator know?').fill('漢'.repeat(700)); // no more than the service takes
    await dialog.getByRole('button', { name: 'Send the report' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Send the report' }).click();
    await dialog.getByRole('heading', { name: 'The report has been sent' }).waitFor();
    expect(await problemsOfLooks(page, 'report-sent')).toEqual([]);
    expect(await reportsOf(id)).toMatchObject([{ kind: 'other', isDisclosed: false }]);
  });
});

describeWeb('a service that takes no reports', { shapes: ['all'] }, (web) => {
  test('offers none', async () => {
    const { link } = await web.client.uploadFiles([file()], stay);
    await using page = await web.open();
    await Promise.all([page.waitForResponse('**/api/config'), page.goto(link)]);
    await page.getByRole('heading', { name: 'look.txt' }).waitFor();
    expect(await page.getByRole('button', { name: 'Report this' }).count()).toBe(0);
  });
});
