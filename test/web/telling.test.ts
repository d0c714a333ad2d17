import { createECDH } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askForFiles, openList } from './asking.ts';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';
import { chooseFiles, shownLink } from './sending.ts';

const service = createECDH('prime256v1');
service.generateKeys();
const settings = {
  PUSH_PUBLIC_KEY: service.getPublicKey('base64url'),
  PUSH_PRIVATE_KEY: service.getPrivateKey('base64url'),
  PUSH_CONTACT: 'mailto:operator@files.example',
};
const browserKey = createECDH('prime256v1').generateKeys('base64url');
const ENDPOINT = 'https://fcm.googleapis.com/fcm/send/none';

/** As if the browser's maker could be reached: a subscription that nobody sends anything to. */
const subscribes = async (context: BrowserContext) => {
  await context.grantPermissions(['notifications']);
  const subscription = { endpoint: ENDPOINT, keys: { p256dh: browserKey, auth: 'A'.repeat(22) } };
  await context.addInitScript((made) => {
    PushManager.prototype.subscribe = async () => ({ toJSON: () => made }) as unknown as PushSubscription; // nothing else of it is used
  }, subscription);
};

/** What the push service would hand to the browser: decrypted, as the service worker gets it. */
async function deliver(session: CDPSession, registrationId: string, origin: string, data: string) {
  await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
}

const shownTitles = (page: Page) =>
  page.evaluate(async () => {
    const registration = await navigator.serviceWorker.getRegistration('/handover/');
    return ((await registration?.getNotifications()) ?? []).map(({ title }) => title);
  });

/** An upload of `plan.pdf`, and the list that it is in. */
async function sendAndList(page: Page, baseUrl: string) {
  await page.goto(baseUrl);
  await chooseFiles(page, [{ name: 'plan.pdf', buffer: Buffer.from('x') }]);
  await page.getByRole('button', { name: 'Encrypt and send' }).click();
  await shownLink(page);
  await page.goto(`${baseUrl}/uploads`);
}

describeWeb('being told of uses', { shapes: ['all'], settings }, (web) => {
  test('a browser that is asked to tell shows what was downloaded, by the name that only it knows', async () => {
    await using page = await web.open({}, subscribes);
    const context = page.context();
    const session = await context.newCDPSession(page);
    let registrationId = '';
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      // Another worker's comes with an event of its own.
      const found = registrations.find(({ scopeURL }) => scopeURL.endsWith('/handover/'));
      registrationId = found?.registrationId ?? registrationId;
    });
    await session.send('ServiceWorker.enable');
    await sendAndList(page, web.baseUrl);
    const button = page.getByRole('button', { name: 'Tell me when it is downloaded' });
    await button.click();
    await page.getByText('This browser will tell you').waitFor();
    expect(await button.getAttribute('aria-pressed')).toBe('true');
    expect(await problemsOfLooks(page, 'uploads-told')).toEqual([]);

    const asked = page.sent.find((text) => text.includes('/hooks')) ?? '';
    const { push } = JSON.parse(asked.split('\n').at(-1) ?? '');
    expect(push).toMatchObject({ endpoint: ENDPOINT, keys: { p256dh: browserKey } });
    expect(asked).not.toContain('plan.pdf');
    const message = JSON.stringify({ id: 'one', event: 'upload.downloaded', key: push.key });
    await deliver(session, registrationId, web.baseUrl, message);
    for (let tries = 0; tries < 100 && (await shownTitles(page)).length === 0; tries += 1) await sleep(100);
    expect(await shownTitles(page)).toEqual(['“plan.pdf” was downloaded']);

    // The list says so after a reload, too, and takes it back.
    await page.reload();
    await page.locator('[aria-pressed=true]').waitFor();
    await button.click();
    await page.getByText('You will not be told any more.').waitFor();
    expect(await button.getAttribute('aria-pressed')).toBe('false');
    // One that was already on its way has no words of its own any more.
    await deliver(session, registrationId, web.baseUrl, JSON.stringify({ id: 'one', key: 'of another' }));
    await expect.poll(() => shownTitles(page)).toContain('Something you sent was opened');
    expect(page.sent.filter((text) => text.startsWith('DELETE') && text.includes('/hooks'))).toHaveLength(1);
  });

  test('a browser that asked for files is told when something arrives, by the name that only it knows', async () => {
    await using page = await web.open({}, subscribes);
    const { dropLink } = await askForFiles(page, web.baseUrl, 'Tax papers');
    await openList(page, web.baseUrl);
    await page.getByRole('button', { name: 'Tell me when something arrives' }).click();
    await page.getByText('This browser will tell you').waitFor();
    const asked = page.sent.find((text) => text.includes('/hooks')) ?? '';
    expect(asked).toContain(`/api/own/request/${new URL(dropLink).pathname.split('/').at(-1)}/hooks`);
    expect(asked).not.toContain('Tax papers');
    const { push } = JSON.parse(asked.split('\n').at(-1) ?? '');

    // What the service is asked to tell, the browser shows.
    const session = await page.context().newCDPSession(page);
    const registered = new Promise<string>((resolve) => {
      session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const found = registrations.find(({ scopeURL }) => scopeURL.endsWith('/handover/'));
        if (found) resolve(found.registrationId);
      });
    });
    await session.send('ServiceWorker.enable');
    const message = JSON.stringify({ id: 'one', event: 'request.received', key: push.key });
    await deliver(session, await registered, web.baseUrl, message);
    await expect.poll(() => shownTitles(page)).toEqual(['Something was sent to you: “Tax papers”']);

    await page.reload();
    await page.locator('[aria-pressed=true]').click();
    await page.getByText('You will not be told any more.').waitFor();
    expect(page.sent.filter((text) => text.startsWith('DELETE') && text.includes('/hooks'))).toHaveLength(1);
  });

  test('where notifications are not allowed nothing is asked of the service, and the page says why', async () => {
    await using page = await web.open({}, async (context) => {
      await subscribes(context);
      await context.addInitScript(() => {
        Notification.requestPermission = async () => 'denied';
      });
    });
    await sendAndList(page, web.baseUrl);
    await page.getByRole('button', { name: 'Tell me when it is downloaded' }).click();
    await page.getByText('Notifications from this page are not allowed.').waitFor();
    expect(page.sent.filter((text) => text.includes('/hooks'))).toEqual([]);
  });

  test('a browser without push has no such button', async () => {
    const withoutPush = (context: BrowserContext) =>
      context.addInitScript(() => Reflect.deleteProperty(globalThis, 'PushManager'));
    await using page = await web.open({}, withoutPush);
    await sendAndList(page, web.baseUrl);
    await page.getByRole('button', { name: 'Change' }).waitFor();
    expect(await page.getByRole('button', { name: 'Tell me' }).count()).toBe(0);
  });
});

describeWeb('a service that tells nobody', { shapes: ['all'] }, (web) => {
  test('has no such button', async () => {
    await using page = await web.open({}, subscribes);
    await sendAndList(page, web.baseUrl);
    await page.getByRole('button', { name: 'Change' }).waitFor();
    expect(await page.getByRole('button', { name: 'Tell me' }).count()).toBe(0);
  });
});
