import { unpack } from '@mayfly/client';
import { describe, expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import {
  crash,
  interruptibleDownloads,
  keptDownloads,
  leasesIn,
  rangesIn,
  reload,
  storedFiles,
} from './interrupted-downloads.ts';
import { problemsOfLooks } from './looks.ts';
import { click, IN_MEMORY, SAVED_WAYS, STORAGE } from './saving-ways.ts';

/** Longer: WEB_TEST_OFFLINE_SEC=30 npm test -- test/web/continuing */
const OFFLINE_MS = 1000 * Number(process.env.WEB_TEST_OFFLINE_SEC || 2);

const WAYS = [...SAVED_WAYS, IN_MEMORY];

describeWeb('a download that is interrupted', { shapes: ['all'] }, (web) => {
  const downloads = interruptibleDownloads(web);
  const interrupted = { name: 'This download was interrupted' };

  describe.each(WAYS)('saved as $name', ({ prepare, save, isContinued }) => {
    test(`goes on by itself after ${OFFLINE_MS / 1000} seconds without a network, and counts once`, {
      timeout: 240_000 + OFFLINE_MS,
    }, async () => {
      const link = await downloads.send();
      await using page = await web.open({}, prepare);
      const context = page.context();
      await page.goto(link);
      const saved = await save(page, async () => {
        await downloads.begin(page);
        await context.setOffline(true);
        downloads.proxy.cut();
        await page.getByRole('status').filter({ hasText: 'Connection lost. Waiting for the network …' }).waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
        expect(await page.getByText(/left$/).count()).toBe(0); // how long it will take is not known any more
        expect(await page.locator('progress').evaluate(({ value }: HTMLProgressElement) => value)).toBeGreaterThan(0.3);
        await page.waitForTimeout(OFFLINE_MS);
        downloads.unlimited();
        await context.setOffline(false);
      });
      expect(saved?.equals(downloads.content)).toBe(true);
      expect(leasesIn(page.sent).size).toBe(1);
      expect(await downloads.countOf(link)).toBe(1);
      expect(await keptDownloads(page)).toEqual([]);
    });

    test('is offered after a reload, though it was the last one, and counts once', async () => {
      const link = await downloads.send({ maxDownloads: 1 });
      await using page = await web.visit(link, {}, prepare);
      await downloads.begin(page);
      if (isContinued) await expect.poll(async () => (await keptDownloads(page))[0]?.storedBytes).toBeGreaterThan(0);
      expect(await downloads.countOf(link)).toBeUndefined();
      const before = page.sent.length;
      await reload(page);
      await page.getByRole('heading', interrupted).waitFor();
      await page.getByText('large.bin').waitFor();
      await page.getByText(isContinued ? /^\d+% of it is kept/ : 'It has to start over').waitFor();
      expect(await page.getByText('Downloads left').count()).toBe(0);
      expect(await page.getByRole('alert').count()).toBe(0);
      downloads.unlimited();
      const saved = await save(page, () => click(page, isContinued ? 'Continue' : 'Start again'));
      expect(saved?.equals(downloads.content)).toBe(true);
      expect(leasesIn(page.sent).size).toBe(1);
      expect(Math.max(...rangesIn(page.sent.slice(before))) > 0).toBe(isContinued);
      expect(await keptDownloads(page)).toEqual([]);
    });
  });

  test('goes on in the storage of a browser whose tab has crashed', async () => {
    const link = await downloads.send({ maxDownloads: 1 });
    await using crashing = await web.visit(link, {}, STORAGE.prepare);
    await downloads.begin(crashing);
    await expect.poll(async () => (await keptDownloads(crashing))[0]?.storedBytes).toBeGreaterThan(0);
    const page = await crash(crashing.context(), crashing);
    await page.goto(link);
    await page.getByText(/^\d+% of it is kept/).waitFor();
    expect(await problemsOfLooks(page, 'receive-interrupted')).toEqual([]);
    downloads.unlimited();
    const saved = await STORAGE.save(page, () => click(page, 'Continue'));
    expect(saved?.equals(downloads.content)).toBe(true);
  });

  test('what is stopped costs nothing for as long as the service says, and is continued or discarded', async () => {
    const link = await downloads.send();
    await using page = await web.visit(link, {}, STORAGE.prepare);
    await downloads.begin(page);
    await page.getByText('If you cancel, you can continue within 1 hour.').waitFor();
    expect(await problemsOfLooks(page, 'receive-busy')).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('status').filter({ hasText: 'Stopped. You can continue within 1 hour.' }).waitFor();
    await page.getByText(/^[3-9]\d% of it is kept in this browser/).waitFor();
    expect(await problemsOfLooks(page, 'receive-stopped')).toEqual([]);
    await downloads.begin(page, { share: 0.6, button: 'Continue' });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText(/^[6-9]\d% of it is kept in this browser/).waitFor();
    expect(await downloads.countOf(link)).toBe(1);
    await page.getByRole('button', { name: 'Discard' }).click();
    expect(await problemsOfLooks(page, 'receive-discard')).toEqual([]);
    await page.getByRole('button', { name: 'Yes, discard' }).click();
    // Nothing of it is left here, and it does not keep the payload on the service.
    await page.getByText('2 of 3').waitFor();
    expect([await keptDownloads(page), await storedFiles(page)]).toEqual([[], []]);
    expect(page.sent.filter((request) => /^DELETE \S+\/api\/lease\//.test(request))).toHaveLength(1);
  });

  test('also in German', async () => {
    const link = await downloads.send();
    await using page = await web.visit(link, { locale: 'de-DE' }, STORAGE.prepare);
    await downloads.begin(page, { button: 'Herunterladen' });
    await page.getByText('Wenn Sie abbrechen, können Sie 1 Stunde lang fortsetzen.').waitFor();
    downloads.proxy.cut();
    await page.getByText('Es geht weiter, sobald das Netz wieder da ist').waitFor();
    expect(await problemsOfLooks(page, 'receive-waiting-german')).toEqual([]);
    await page.getByRole('button', { name: 'Abbrechen' }).click();
    await page.getByText('Abgebrochen. Sie können 1 Stunde lang fortsetzen.').waitFor();
    expect(await problemsOfLooks(page, 'receive-stopped-german')).toEqual([]);
  });

  test('behind a password it is continued with the password, which the service is not asked about any more', async () => {
    const link = await downloads.send({ maxDownloads: 1, password: 'right' });
    await using page = await web.open({}, STORAGE.prepare);
    const unlock = async (password: string) => {
      await page.getByLabel('Password', { exact: true }).fill(password);
      await click(page, 'Unlock');
    };
    await page.goto(link);
    await unlock('right');
    await downloads.begin(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText(/% of it is kept/).waitFor();
    await reload(page);
    await page.getByRole('heading', interrupted).waitFor();
    expect(await problemsOfLooks(page, 'receive-interrupted-locked')).toEqual([]);
    await unlock('wrong');
    await page.getByText('That is not the password').waitFor();
    await unlock('right');
    await page.getByText(/% of it is kept/).waitFor();
    downloads.unlimited();
    const saved = await STORAGE.save(page, () => click(page, 'Continue'));
    expect(saved?.equals(downloads.content)).toBe(true);
  });

  test('an archive is continued in its middle', async () => {
    const files = [new File([downloads.content], 'trip/beach.jpg'), new File(['hi'], 'read me.txt')];
    const link = await downloads.send({ files, maxDownloads: 1 });
    await using page = await web.visit(link, {}, STORAGE.prepare);
    await downloads.begin(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await reload(page);
    await page.getByText(/% of it is kept/).waitFor();
    downloads.unlimited();
    const saved = await STORAGE.save(page, () => click(page, 'Continue'));
    const entries = files.map(({ name, size }) => ({ name, size, type: '' }));
    const found: Buffer[] = [];
    const zip = new Blob([Uint8Array.from(saved ?? [])]).stream();
    for await (const { stream } of unpack({ files: entries, archive: 'zip' }, zip)) {
      found.push(Buffer.from(await new Response(stream).arrayBuffer()));
    }
    expect(
      found.map((bytes, index) => bytes.equals([downloads.content, Buffer.from('hi')][index] ?? Buffer.of())),
    ).toEqual([true, true]);
    expect(leasesIn(page.sent).size).toBe(1);
  });

  test('an archive that is unpacked goes on after a lost connection, and is begun again, uncounted, when it was stopped', async () => {
    const files = ['one.bin', 'two.bin'].map((name) => new File([downloads.content.subarray(4_000_000)], name));
    const link = await downloads.send({ files });
    await using page = await web.visit(link, {}, (context) =>
      context.addInitScript(() =>
        Reflect.set(globalThis, 'showDirectoryPicker', async () => {
          const storage = await navigator.storage.getDirectory();
          return storage.getDirectoryHandle('chosen', { create: true });
        }),
      ),
    );
    await downloads.begin(page, { share: 0.6, button: 'Unpack into a folder' });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('One file is in the folder').waitFor();
    await click(page, 'Try again');
    await page.getByText('It has to start over').waitFor();
    await downloads.begin(page, { button: 'Unpack into a folder' });
    downloads.proxy.cut();
    await page.getByText('Connection lost. Waiting for the network …').waitFor();
    downloads.unlimited();
    await page.getByText('2 files are in the folder, verified').waitFor();
    expect(leasesIn(page.sent).size).toBe(1);
    expect(await downloads.countOf(link)).toBe(1);
  });

  test('what was changed on its way is nothing to continue with: it begins anew, uncounted', async () => {
    const link = await downloads.send();
    await using page = await web.visit(link, {}, STORAGE.prepare);
    downloads.proxy.tampering = { kind: 'flip', at: 5_000_000 };
    expect(await STORAGE.save(page, () => click(page))).toBeUndefined();
    await page.locator('[data-problem=tampered]').waitFor();
    await page.getByText('It has to start over').waitFor();
    expect(await storedFiles(page)).toEqual([]);
    expect(await problemsOfLooks(page, 'receive-tampered')).toEqual([]);
    downloads.unlimited();
    const saved = await STORAGE.save(page, () => click(page, 'Start again'));
    expect(saved?.equals(downloads.content)).toBe(true);
    expect(leasesIn(page.sent).size).toBe(1);
    expect(await downloads.countOf(link)).toBe(1);
  });

  test("two tabs do not take each other's file", async () => {
    const link = await downloads.send({ maxDownloads: 2 });
    await using page = await web.open({}, STORAGE.prepare);
    const context = page.context();
    await page.goto(link);
    await downloads.begin(page);
    const other = await context.newPage();
    await other.goto(link);
    await other.getByText('1 of 2').waitFor();
    await downloads.begin(other);
    // None is left for a third, which says where the two are.
    const third = await context.newPage();
    await third.goto(link);
    await third.getByText('It is being downloaded in another tab').waitFor();
    expect(await problemsOfLooks(third, 'receive-elsewhere')).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText(/% of it is kept/).waitFor();
    await click(third, 'Try again');
    await third.getByText(/% of it is kept/).waitFor();
    downloads.unlimited();
    const thirds = STORAGE.save(third, () => click(third, 'Continue'));
    expect((await thirds)?.equals(downloads.content)).toBe(true);
    await other.getByRole('heading', { name: 'Downloaded and verified' }).waitFor();
    // What the first page thinks it could continue is over: it must not become another download.
    await click(page, 'Continue');
    await page.locator('[data-problem=download-ended]').waitFor();
    await page.getByText('0 of 2').waitFor();
    // A file that a page may still hand out stays, and goes with the page.
    const leftovers = async () => {
      await page.goto(downloads.proxy.url);
      await page.waitForTimeout(500); // it is cleared up in the meantime
      return storedFiles(page);
    };
    expect(await leftovers()).toHaveLength(2);
    await third.close();
    await other.close();
    await expect.poll(leftovers, { timeout: 60_000 }).toEqual([]);
  });
});

describeWeb('a download without leases', { shapes: ['all'], settings: { DOWNLOAD_LEASE_SEC: '0' } }, (web) => {
  const downloads = interruptibleDownloads(web);

  test('is used up when it is stopped: the page says so before and after', async () => {
    const link = await downloads.send({ maxDownloads: 2 });
    await using page = await web.visit(link, {}, STORAGE.prepare);
    await downloads.begin(page);
    await page.getByText('If you cancel, this download is used up.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('1 of 2').waitFor();
    await downloads.begin(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('0 of 2').waitFor();
    await page.getByText('It was opened as often as its sender allowed').waitFor();
    expect(await problemsOfLooks(page, 'receive-stopped-used-up')).toEqual([]);
    expect([await keptDownloads(page), await storedFiles(page)]).toEqual([[], []]);
  });

  test('that breaks off and was the last one leaves none', async () => {
    const link = await downloads.send({ maxDownloads: 1 });
    await using page = await web.visit(link, {}, STORAGE.prepare);
    downloads.proxy.tampering = { kind: 'cut', at: 2_000_000 };
    await click(page);
    await page.locator('[data-problem=network]').waitFor();
    await page.getByText('0 of 1').waitFor();
    await page.getByText('It was opened as often as its sender allowed').waitFor();
  });
});
