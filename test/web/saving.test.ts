import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { inSuite } from '@mayfly/testing/in-suite';
import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import { describe, expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { click, IN_MEMORY, PICKED, readPicked, SAVED_WAYS, STORAGE } from './saving-ways.ts';

const CONTENT = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, index) => (index * 31) % 253));

// Downloads that cannot be continued; those that can are in continuing.test.ts.
describeWeb('saving a download', { shapes: ['all'], settings: { DOWNLOAD_LEASE_SEC: '0' } }, (web) => {
  const proxy = inSuite(() => openTamperingProxy(web.baseUrl));
  const client = () => new MayflyClient({ baseUrl: proxy().url, transport: nodeTransport() });

  async function upload(): Promise<string> {
    const options = { expireSec: 3600, maxDownloads: 10 };
    return (await client().uploadFiles([new File([CONTENT], 'data.bin')], options)).link;
  }

  describe.each(SAVED_WAYS)('as $name', ({ prepare, save }) => {
    const shared = web.sharePage({}, prepare);

    test('what was sent arrives', async () => {
      proxy().tampering = { kind: 'none' };
      const page = shared();
      await page.goto(await upload());
      expect((await save(page, () => click(page)))?.equals(CONTENT)).toBe(true);
    });

    test.each([
      { what: 'changed in the middle', problem: 'tampered', tampering: { kind: 'flip', at: 1_500_000 } },
      { what: 'changed in its last byte', problem: 'tampered', tampering: { kind: 'flip', at: -1 } },
      { what: 'cut short by a broken connection', problem: 'network', tampering: { kind: 'cut', at: 2_000_000 } },
      {
        what: 'cut short at the end of a segment',
        problem: 'tampered',
        tampering: { kind: 'shorten', to: 8 + 20 * 65_552 },
      },
    ] as const)('a payload that was $what is an error and never a file', async ({ problem, tampering }) => {
      const page = shared();
      const link = await upload();
      const { size } = await client().getInfo(link);
      proxy().tampering = tampering.kind === 'flip' && tampering.at < 0 ? { kind: 'flip', at: size - 1 } : tampering;
      await page.goto(link);
      expect(await save(page, () => click(page))).toBeUndefined();
      await page.locator(`[data-problem=${problem}]`).waitFor();
      // It can be tried again, and then it is whole.
      proxy().tampering = { kind: 'none' };
      expect((await save(page, () => click(page)))?.equals(CONTENT)).toBe(true);
    });
  });

  test('a browser without storage of its own keeps the file in memory, and says what it needs', async () => {
    proxy().tampering = { kind: 'none' };
    await using page = await web.visit(await upload(), {}, IN_MEMORY.prepare);
    await page.getByText('This browser keeps the whole file in its own storage').waitFor();
    expect((await IN_MEMORY.save(page, () => click(page)))?.equals(CONTENT)).toBe(true);
  });

  test('a browser whose storage is full says so, and hands out nothing', async () => {
    proxy().tampering = { kind: 'none' };
    await using page = await web.open({}, STORAGE.prepare);
    const context = page.context();
    const session = await context.newCDPSession(page);
    await page.goto(await upload());
    await session.send('Storage.overrideQuotaForOrigin', { origin: proxy().url, quotaSize: 1_500_000 });
    expect(await STORAGE.save(page, () => click(page))).toBeUndefined();
    await page.locator('[data-problem=no-room]').waitFor();
  });

  test('a stopped download leaves no file', async () => {
    proxy().tampering = { kind: 'none' };
    await using page = await web.open({}, PICKED.prepare);
    const link = await upload();
    await page.goto(link);
    const { promise: held, resolve: proceed } = Promise.withResolvers<void>();
    await page.route('**/api/download/*', async (route) => {
      await held;
      await route.abort();
    });
    await click(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Nothing was saved').waitFor();
    proceed();
    expect(await readPicked(page)).toBeUndefined();
  });
});
