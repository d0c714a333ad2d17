import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unpack } from '@mayfly/client';
import { freshFolder } from '@mayfly/testing/stores';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askForFiles, dropFiles, openList, refuseStorage } from './asking.ts';
import { noPicker } from './browser.ts';
import { describeWeb } from './describe-web.ts';
import { SHORT_PARTS, shortParts } from './interrupted.ts';
import { problemsOfLooks } from './looks.ts';
import { chooseFiles, PROMISE } from './sending.ts';

const file = (name: string, content: string | Buffer = name) => ({ name, buffer: Buffer.from(content) });
const BYTES = /\/api\/(download|lease)\//;

/** As its directory has them. */
function namesIn(zip: Buffer): string[] {
  const sign = Buffer.of(0x50, 0x4b, 1, 2);
  const names: string[] = [];
  for (let at = zip.indexOf(sign); at >= 0; at = zip.indexOf(sign, at + 1)) {
    names.push(zip.toString('utf8', at + 46, at + 46 + zip.readUInt16LE(at + 28)));
  }
  return names;
}
const idOf = (link: string) => new URL(link).pathname.split('/').at(-1) ?? '';

describeWeb(
  'asking for files',
  { shapes: ['all'], settings: { REQUEST_EXPIRE_OPTIONS_SEC: '10,3600,86400,604800' } },
  (web) => {
    const ask = (page: Page, title: string, choices = {}) => askForFiles(page, web.baseUrl, title, choices);

    test('a link is made and given away; what others send through it is found and opened by whoever asked', async () => {
      await using asker = await web.visit(web.baseUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
      await asker.getByRole('link', { name: 'Ask for files' }).click();
      const links = await ask(asker, 'Your tax papers', { text: 'All of 2025, please.' });
      await asker.getByRole('button', { name: 'Copy link' }).click();
      await asker.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await asker.evaluate(() => navigator.clipboard.readText())).toBe(links.dropLink);

      await using sender = await web.visit(links.dropLink);
      await sender.getByRole('heading', { name: 'Your tax papers' }).waitFor();
      await sender.getByText('All of 2025, please.').waitFor();
      await sender.getByText('10 deliveries').waitFor();
      await dropFiles(sender, [file('payslip.txt', 'a thousand'), file('rent.txt', 'five hundred')]);
      await sender.getByRole('button', { name: 'Send more' }).click();
      await sender.getByText('9 deliveries').waitFor();

      await asker.getByRole('link', { name: 'See what has arrived' }).click();
      await asker.getByText('One delivery has arrived').waitFor();
      await dropFiles(sender, [file('second.txt')]);
      // Without anything being done here.
      await asker.getByText('2 deliveries have arrived').waitFor();
      await asker.getByRole('listitem').first().getByRole('link', { name: 'Open' }).click();
      await asker.getByRole('heading', { name: 'Somebody sent you 2 files' }).waitFor();
      await asker.getByText('payslip.txt').waitFor();

      // The service sees neither what is asked for nor what opens it.
      const secrets = ['tax papers', links.dropLink, links.keepLink].map((one) => one.split('#').at(-1) ?? '');
      for (const secret of secrets) {
        const seen = [...asker.sent, ...sender.sent].filter((request) => request.includes(secret));
        expect(seen).toEqual([]);
      }
    });

    test('what is opened is what was sent', async () => {
      await using page = await web.open({}, noPicker);
      const { dropLink, keepLink } = await ask(page, 'A letter');
      await page.goto(dropLink);
      await dropFiles(page, [file('letter.txt', 'Dear reader')]);
      await page.goto(keepLink);
      await page.getByRole('link', { name: 'Open' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download' }).click(),
      ]);
      expect(await readFile(await download.path(), 'utf8')).toBe('Dear reader');
    });

    test('everything that has arrived is saved as one archive, without what is gone; one that breaks leaves nothing', async () => {
      await using page = await web.open({}, noPicker);
      const { dropLink, keepLink } = await ask(page, 'All: of it');
      await page.goto(dropLink);
      const deliveries = [
        [file('a.txt', 'first')],
        [file('a.txt', 'second'), file('b.bin', Buffer.alloc(3_000_000, 7))],
      ];
      for (const files of [...deliveries, [file('gone.txt')]]) {
        await dropFiles(page, files);
        await page.getByRole('button', { name: 'Send more' }).click();
      }
      await page.goto(keepLink);
      await page.getByText('3 deliveries have arrived').waitFor();
      // Its sender deletes one that the page takes to be there.
      await openList(page, web.baseUrl);
      await using keeper = await web.open({}, noPicker);
      await keeper.goto(keepLink);
      await keeper.getByText('3 deliveries have arrived').waitFor();
      expect(await problemsOfLooks(keeper, 'request-arrived')).toEqual([]);
      await keeper.route('**/drops', (route) => route.abort());
      const row = page.getByRole('listitem').filter({ hasText: 'gone.txt' });
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete now' }).click();
      await row.waitFor({ state: 'detached' });

      // Nothing that comes after a byte was changed is kept.
      await keeper.route(BYTES, async (route) => {
        const answer = await route.fetch();
        const body = await answer.body();
        body[body.length - 1] = (body.at(-1) ?? 0) ^ 1;
        await route.fulfill({ response: answer, body });
      });
      await keeper.getByRole('button', { name: 'Download all' }).click();
      await keeper.locator('[data-problem=tampered]').waitFor();
      await keeper.unroute(BYTES);

      const [download] = await Promise.all([
        keeper.waitForEvent('download'),
        keeper.getByRole('button', { name: 'Download all' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('All_ of it.zip');
      const archive = await readFile(await download.path());
      const files = namesIn(archive).map((name, index) => ({ name, type: '', size: [5, 6, 3_000_000][index] ?? 0 }));
      const found: [string, Buffer][] = [];
      for await (const { name, stream } of unpack({ files, archive: 'zip' }, new Blob([archive]).stream())) {
        const bytes = Buffer.from(await new Response(stream).arrayBuffer());
        found.push([name.replace(/^\d{4}-\d\d-\d\d [\w-]{8}\//, ''), bytes]);
      }
      const sent = { first: Buffer.from('first'), second: Buffer.from('second'), large: Buffer.alloc(3_000_000, 7) };
      expect(found.map(([name]) => name)).toEqual(['a.txt', 'a.txt', 'b.bin']);
      expect(Buffer.concat(found.map(([, bytes]) => bytes)).equals(Buffer.concat(Object.values(sent)))).toBe(true);
      await keeper.locator('[data-collected]').filter({ hasText: 'One delivery is not in it' }).waitFor();
      expect(await problemsOfLooks(keeper, 'request-collected')).toEqual([]);
    });

    test('a link whose key was swapped is refused before a file can be chosen', async () => {
      await using page = await web.open();
      const { dropLink } = await ask(page, 'Swapped');
      const other = await ask(page, 'Another');
      await page.route(`**/api/request/${idOf(dropLink)}`, async (route) => {
        const [mine, stranger] = await Promise.all(
          [dropLink, other.dropLink].map(async (link) =>
            (await fetch(`${web.baseUrl}/api/request/${idOf(link)}`)).json(),
          ),
        );
        await route.fulfill({ json: { ...mine, publicKey: stranger.publicKey } });
      });
      await page.goto(dropLink);
      await page.getByRole('heading', { name: 'This link cannot be trusted' }).waitFor();
      expect(await page.locator('input[type=file]').count()).toBe(0);
      expect(page.sent.filter((request) => request.includes('/api/upload'))).toEqual([]);
    });

    test('what does not fit is said before it is sent', async () => {
      await using page = await web.open();
      const { dropLink } = await ask(page, 'Little', { size: '10 MB' });
      await page.goto(dropLink);
      await page.getByRole('heading', { name: 'Little' }).waitFor();
      await chooseFiles(page, [file('large.bin', Buffer.alloc(10_000_001))]);
      await page.getByRole('alert').filter({ hasText: 'at most 10 MB can be sent' }).waitFor();
      await page.getByRole('button', { name: 'Encrypt and send' }).click();
      await page.getByRole('button', { name: 'Remove large.bin' }).click();
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await dropFiles(page, [file('small.txt')]);
      expect(page.sent.filter((request) => request.startsWith('POST') && /\/drop$/m.test(request))).toHaveLength(1);
    });

    test('a request that is full says so, and takes nothing that was on its way; so does one that is gone', async () => {
      await using page = await web.open();
      const { dropLink, keepLink } = await ask(page, 'One only', { deliveries: '1 delivery' });
      await using late = await web.open();
      await late.goto(dropLink);
      await chooseFiles(late, [file('late.txt')]);
      const { promise: held, resolve: proceed } = Promise.withResolvers<void>();
      await late.route('**/drop', async (route) => {
        await held;
        await route.continue();
      });
      await late.getByRole('button', { name: 'Encrypt and send' }).click();
      await late.getByRole('heading', { name: 'Sending' }).waitFor();
      await page.goto(dropLink);
      await dropFiles(page, [file('first.txt')]);
      proceed();
      await late.locator('[data-problem=refused]').waitFor();
      await late.getByRole('heading', { name: 'This request is full' }).waitFor();
      await page.goto(keepLink);
      await page.locator('[data-state=full]').waitFor();
      expect(await page.locator('[data-drops] li').count()).toBe(1);

      await page.getByRole('button', { name: 'Delete the request' }).click();
      await page.getByRole('button', { name: 'Yes, delete' }).click();
      await page.getByText('The request has been deleted.').waitFor();
      await openList(page, web.baseUrl);
      await page.getByText('One only').waitFor({ state: 'detached' });
      await late.goto('about:blank');
      await late.goto(dropLink);
      await late.locator('[data-problem=gone]').waitFor();
      await page.goto(`${web.baseUrl}/r/${idOf(dropLink)}#nonsense`);
      await page.locator('[data-problem=invalid-link]').waitFor();
    });

    test('a request that has ended takes nothing any more, and still shows what it has got', async () => {
      await using page = await web.open();
      const { dropLink, keepLink } = await ask(page, 'Hurry', { time: '10 seconds' });
      await page.goto(dropLink);
      await dropFiles(page, [file('in-time.txt')]);
      await expect
        .poll(
          async () => {
            await page.goto('about:blank');
            await page.goto(dropLink);
            return page.locator('[data-problem=ended], h1').first().getAttribute('data-problem');
          },
          { timeout: 60_000, interval: 2_000 },
        )
        .toBe('ended');
      await page.goto(keepLink);
      await page.locator('[data-state=expired]').waitFor();
      await page.getByRole('link', { name: 'Open' }).waitFor();
    });

    test('My uploads holds it: its links, how much room is left, and its end', async () => {
      await using page = await web.open({ permissions: ['clipboard-read', 'clipboard-write'] });
      const { dropLink, keepLink } = await ask(page, 'Holiday pictures', { deliveries: '5 deliveries' });
      await page.goto(dropLink);
      await dropFiles(page, [file('beach.jpg')]);
      await openList(page, web.baseUrl);
      const row = page.getByRole('listitem').filter({ hasText: 'Holiday pictures' });
      await row.getByText('4 of 5').waitFor();
      await row.getByRole('button', { name: 'Copy link' }).click();
      await row.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(dropLink);
      expect(await row.getByRole('link', { name: 'Open' }).getAttribute('href')).toBe(keepLink);
      // What was sent from here is listed as well: it is the sender's.
      await page.getByRole('listitem').filter({ hasText: 'beach.jpg' }).waitFor();
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete now' }).click();
      await page.getByText('Deleted from the service and from this list.').waitFor();
      await page.goto(keepLink);
      await page.locator('[data-problem=gone]').waitFor();
    });

    test('a request moves to another browser with the list, and is its own there, too', async () => {
      const passphrase = 'seven of the other words';
      await using one = await web.open();
      const { keepLink } = await ask(one, 'To be moved', { deliveries: '5 deliveries' });
      await openList(one, web.baseUrl);
      await one.getByText('Export the list').click();
      await one.locator('[data-export]').getByLabel('Passphrase').fill(passphrase);
      const [download] = await Promise.all([
        one.waitForEvent('download'),
        one.getByRole('button', { name: 'Encrypt and save' }).click(),
      ]);
      const saved = await readFile(await download.path());
      expect(saved.toString()).not.toContain('To be moved');

      await using page = await web.open();
      await openList(page, web.baseUrl);
      await page.getByText('Import a list').click();
      await page
        .getByLabel('Exported file')
        .setInputFiles({ name: 'list.json', mimeType: 'application/json', buffer: saved });
      await page.locator('[data-import]').getByLabel('Passphrase').fill(passphrase);
      await page.getByRole('button', { name: 'Decrypt and add' }).click();
      await page.getByText('1 added, 0 already in the list.').waitFor();
      const row = page.getByRole('listitem').filter({ hasText: 'To be moved' });
      await row.getByText('5 of 5').waitFor();
      expect(await row.getByRole('link', { name: 'Open' }).getAttribute('href')).toBe(keepLink);
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete now' }).click();
      await row.waitFor({ state: 'detached' });
      await one.goto(keepLink);
      await one.locator('[data-problem=gone]').waitFor();
    });

    test('where nothing is stored, the page says so, and is not left before the private link was copied', async () => {
      await using page = await web.open({ permissions: ['clipboard-read', 'clipboard-write'] }, refuseStorage);
      let questions = 0;
      page.on('dialog', async (dialog) => {
        questions += 1;
        await dialog.dismiss();
      });
      const { keepLink } = await ask(page, 'Kept nowhere');
      await page.locator('[data-not-kept]').waitFor();
      await page.getByRole('button', { name: 'Make another request' }).click();
      await page.locator('[data-asked]').waitFor();
      await page.close({ runBeforeUnload: true });
      await expect.poll(() => questions).toBe(1);
      await page.getByRole('button', { name: 'Copy private link' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(keepLink);
      await page.getByRole('button', { name: 'Make another request' }).click();
      await page.getByRole('heading', { name: 'Ask for files' }).waitFor();
      expect(questions).toBe(1);
    });

    test('whoever is quicker than the service is waited for', async () => {
      await using page = await web.open();
      const { promise: held, resolve: answer } = Promise.withResolvers<void>();
      await page.route('**/api/config', async (route) => {
        await held;
        await route.continue();
      });
      const links = ask(page, 'In a hurry');
      await page.getByRole('button', { name: 'Make the links', disabled: true }).waitFor();
      answer();
      expect((await links).dropLink).toContain('/r/');
    });

    test('a request needs to say what for', async () => {
      await using page = await web.visit(`${web.baseUrl}/request`);
      await page.getByLabel('Number of deliveries').waitFor();
      await page.getByRole('button', { name: 'Make the links' }).click();
      await page.getByRole('alert').filter({ hasText: 'Say what you need.' }).waitFor();
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
      await page.getByLabel('What do you need?').fill('x'.repeat(4_000));
      await page.getByRole('button', { name: 'Make the links' }).click();
      await page.getByRole('alert').filter({ hasText: 'This is too long.' }).waitFor();
      expect(page.sent.filter((request) => request.includes('POST') && request.includes('/api/request'))).toEqual([]);
    });
  },
);

describeWeb('deliveries in parts', { shapes: ['all'], settings: SHORT_PARTS }, (web) => {
  test('a delivery in parts that was interrupted goes on after a reload', async () => {
    await using asker = await web.open();
    const links = await askForFiles(asker, web.baseUrl, 'Something large');
    await using page = await web.visit(links.dropLink, {}, shortParts);
    await using folder = await freshFolder();
    const large = join(folder.path, 'large.bin');
    await writeFile(large, Buffer.alloc(1_000_000, 7));
    await page.setInputFiles('[data-pick=files]', large);
    // The second part is lost with its connection.
    await page.route(/\/api\/parts\/[^/]+\/2$/, (route) => route.abort());
    await page.getByRole('button', { name: 'Encrypt and send' }).click();
    await page.getByText('Connection lost.').waitFor();
    page.on('dialog', (dialog) => dialog.accept());
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.reload();
    await page.getByRole('heading', { name: 'This upload was interrupted' }).waitFor();
    await page.setInputFiles('[data-pick=again]', large);
    await page.getByRole('heading', { name: 'Sent', exact: true }).waitFor();
    await asker.goto(links.keepLink);
    await asker.getByText('One delivery has arrived').waitFor();
    await page.goto(web.baseUrl);
    await page.getByRole('heading', { name: PROMISE }).waitFor();
    expect(await page.locator('[data-unfinished]').count()).toBe(0);
  });
});

describeWeb('a service without file requests', { shapes: ['all'], settings: { REQUESTS: 'no' } }, (web) => {
  test('has no link to ask for files, and no page for it', async () => {
    await using page = await web.visit(`${web.baseUrl}/request`);
    await page.locator('[data-problem=missing-page]').waitFor();
    await page.goto(web.baseUrl);
    await page.getByText('Choose files').waitFor();
    expect(await page.getByRole('link', { name: 'Ask for files' }).count()).toBe(0);
  });
});
