import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { formatLink, parseAddress, parseLink } from '@mayfly/client';
import { inSuite } from '@mayfly/testing/in-suite';
import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import { untilTrue } from '@mayfly/testing/wire';
import { beforeAll, describe, expect, test } from 'vitest';
import { cliFolder } from '../support/cli-folder.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { CTRL_C, HAS_TERMINAL, inTerminal } from '../support/in-terminal.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** How often a download is killed or stopped. */
const TIMES = Number(process.env.CLI_TEST_STOPS || 3);
const SLOW = 4_000_000;
const SIZE = 12_000_000;

describeEachShape('mayfly get', {}, (service) => {
  const proxy = inSuite(() => openTamperingProxy(service.running.baseUrl));
  const env = () => ({ MAYFLY_SERVER: service.running.baseUrl });
  const { inFolder, cli, newFolder } = cliFolder(() => service.running.baseUrl);
  beforeAll(async () => {
    await mkdir(inFolder('album/sub'), { recursive: true });
    await writeFile(inFolder('single.bin'), CONTENT);
    for (const [name, bytes] of Object.entries(ALBUM)) await writeFile(inFolder(name), bytes);
  });

  const CONTENT = randomBytes(SIZE);
  const ALBUM: Record<string, Buffer> = {
    'album/empty': Buffer.alloc(0),
    'album/first.bin': CONTENT.subarray(0, 5_000_000),
    'album/second.txt': Buffer.from('second'),
    'album/sub/third.bin': CONTENT.subarray(5_000_000),
  };

  /** Sends, and returns the link through the proxy(). */
  async function sent(...args: string[]) {
    const { code, out, err } = await cli(['send', ...args]);
    expect([code, code === 0 ? '' : err]).toEqual([0, '']);
    return formatLink({ ...(await parseLink(out.trim())), baseUrl: proxy().url });
  }
  const partOf = async (received: string) => {
    const [name] = (await readdir(inFolder(received))).filter((name) => name.endsWith('.part'));
    return name === undefined ? undefined : inFolder(received, name);
  };
  const recordOf = async (received: string) => {
    const part = await partOf(received);
    const text = part && (await readFile(join(part, 'record.json'), 'utf8').catch(() => undefined));
    return text ? JSON.parse(text) : undefined;
  };
  const writtenBytes = async (received: string) => {
    const part = await partOf(received);
    if (!part) return 0;
    const inPart = await readdir(part).catch(() => []); // it may have gone since
    const names = inPart.filter((name) => /^\d+$/.test(name));
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(part, name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  /** Starts a download, and ends it by a signal once so much is there and a record tells of some of it. */
  async function stopped(signal: NodeJS.Signals, args: string[], received: string, atBytes = SIZE / 4) {
    proxy().downloadBytesPerSec = SLOW;
    const isTime = async () =>
      (await writtenBytes(received)) >= atBytes && (await recordOf(received))?.position.bytes > 0;
    const result = await cli(['get', ...args, '-o', received], { signalWhen: { signal, isTime } });
    proxy().downloadBytesPerSec = Number.POSITIVE_INFINITY;
    return result;
  }
  async function expectAlbum(received: string) {
    for (const [name, bytes] of Object.entries(ALBUM)) {
      expect(bytes.equals(await readFile(inFolder(received, name))), name).toBe(true);
    }
    expect(await readdir(inFolder(received))).toEqual(['album']);
  }
  async function expectSingle(received: string, name = 'single.bin') {
    expect(CONTENT.equals(await readFile(inFolder(received, name)))).toBe(true);
    expect((await stat(inFolder(received, name))).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(await readdir(inFolder(received))).toEqual([name]);
  }

  test.each([
    ['single.bin', '--no-parts'],
    ['single.bin', '--parts'],
    ['album', '--no-parts'],
    ['album', '--parts'],
  ])('killed again and again, it goes on, and is one download: %s %s', { timeout: 300_000 }, async (what, how) => {
    const link = await sent(what, how);
    const received = await newFolder();
    for (let time = 0; time < TIMES; time += 1) {
      const atBytes = (await writtenBytes(received)) + randomInt(SIZE / TIMES / 2);
      const { code, err } = await stopped('SIGKILL', [link], received, atBytes);
      expect(code).toBe(-1);
      if (time > 0) expect(err).toMatch(/^Continuing at \d+ %\.\n$/);
      const part = (await partOf(received)) ?? '';
      expect((await stat(part)).mode & 0o777).toBe(0o700);
      for (const name of await readdir(part)) expect((await stat(join(part, name))).mode & 0o777).toBe(0o600);
      expect(await readFile(join(part, 'record.json'), 'utf8')).not.toContain(link.split('#')[1]);
    }
    // Its only download is used: nobody else gets anything any more.
    expect((await service.api.exists(parseAddress(link).id)).body.reason).toBe('limit_reached');
    expect((await cli(['get', link, '-o', await newFolder()])).code).toBe(5);
    const { code, out, err } = await cli(['get', link, '-o', received, '--json']);
    expect([code, err]).toEqual([0, expect.stringMatching(/^\{"notice":"Continuing at [1-9]\d* %\."\}\n$/)]);
    expect(JSON.parse(out).files).toHaveLength(what === 'album' ? 4 : 1);
    await (what === 'album' ? expectAlbum(received) : expectSingle(received));
    expect((await cli(['get', link, '-o', received, '--force'])).code).toBe(5);
  });

  // The wrapper and the command itself; a parent such as npm makes two signals of one.
  describe.runIf(HAS_TERMINAL)('Ctrl-C', () => {
    test.each([
      ['./mayfly', [join(ROOT, 'mayfly')], CTRL_C],
      ['the command', [process.execPath, join(ROOT, 'apps/cli/src/main.ts')], CTRL_C],
      ['./mayfly, twice at once', [join(ROOT, 'mayfly')], CTRL_C + CTRL_C],
    ])('leaves only what can be continued: %s', { timeout: 300_000 }, async (_, command, keys) => {
      const link = await sent('single.bin', '--downloads', '100');
      const received = await newFolder();
      let stops = 0;
      for (let time = 0; time < TIMES; time += 1) {
        proxy().downloadBytesPerSec = SIZE / TIMES / 3; // it is never done
        using terminal = inTerminal([...command, 'get', link, '-o', received], { cwd: inFolder(), env: env() });
        await terminal.begun;
        // Anywhere: while it starts, asks, receives.
        await sleep(randomInt(2_500));
        terminal.press(keys);
        const { code, isRestored, output } = await terminal.ended;
        expect([code, isRestored], output).toEqual([130, true]);
        const left = await readdir(inFolder(received));
        const part = await partOf(received);
        expect(left).toHaveLength(part ? 1 : 0);
        if (!part) continue;
        stops += 1;
        for (const name of await readdir(part)) expect((await stat(join(part, name))).mode & 0o777).toBe(0o600);
        expect(await recordOf(received)).toMatchObject({ version: 1 });
      }
      proxy().downloadBytesPerSec = Number.POSITIVE_INFINITY;
      const { code, err } = await cli(['get', link, '-o', received]);
      expect([code, err]).toEqual([0, stops > 0 ? expect.stringMatching(/^Continuing at \d+ %\.\n$/) : '']);
      await expectSingle(received);
      expect((await service.api.info(parseAddress(link).id)).body.downloadCount).toBe(1);
    });

    test('a second one, a moment later, does not wait', async () => {
      const link = await sent('single.bin');
      proxy().downloadBytesPerSec = SLOW;
      const received = await newFolder();
      using terminal = inTerminal([join(ROOT, 'mayfly'), 'get', link, '-o', received], {
        cwd: inFolder(),
        env: env(),
      });
      await untilTrue(async () => (await writtenBytes(received)) > 0);
      terminal.press(CTRL_C);
      await sleep(1_500);
      terminal.press(CTRL_C);
      expect((await terminal.ended).code).toBe(130);
      proxy().downloadBytesPerSec = Number.POSITIVE_INFINITY;
    });
  });

  test('stopped, it says how to go on, without the secret', async () => {
    const link = await sent('single.bin');
    const received = await newFolder();
    const { code, out, err } = await stopped('SIGINT', [link], received);
    expect({ code, out }).toEqual({ code: 130, out: '' });
    const hint = /^It stopped at \d+ %\. To go on, run the same command again within (1 hour|\d+ minutes)\.\n/;
    expect(err).toMatch(new RegExp(`${hint.source}mayfly: Stopped\\n$`));
    const finished = await cli(['get', link, '-o', received]);
    expect([finished.code, finished.out]).toEqual([0, `${received}/single.bin\n`]);
    await expectSingle(received);
  });

  test('what cannot be continued is told, and goes', async () => {
    const [used, open, deleted] = await Promise.all([
      sent('single.bin'),
      sent('single.bin', '--downloads', '2'),
      sent('single.bin'),
    ]);
    const folders = await Promise.all([newFolder(), newFolder(), newFolder()]);
    for (const [at, link] of [used, open, deleted].entries()) await stopped('SIGINT', [link], folders[at] ?? '');
    for (const received of folders.slice(0, 2)) {
      // As if its hour were over: the service knows of no such lease.
      const record = { ...(await recordOf(received)), lease: randomBytes(32).toString('base64url') };
      await writeFile(join((await partOf(received)) ?? '', 'record.json'), JSON.stringify(record));
    }
    expect((await cli(['delete', deleted])).code).toBe(0);
    const [one, two, three] = await Promise.all(
      [used, open, deleted].map((link, at) => cli(['get', link, '-o', folders[at] ?? ''])),
    );
    const ended = 'The download that was stopped cannot be continued any more';
    expect([one?.code, one?.err]).toEqual([
      5,
      `mayfly: ${ended}, and a new one cannot begin. It has been used as often as its owner allowed\n`,
    ]);
    expect([two?.code, two?.err]).toEqual([0, expect.stringContaining(`${ended}; this is another one.\n`)]);
    expect(two?.err).toMatch(/Continuing at [1-9]\d* %/);
    expect(three?.code).toBe(3);
    expect(await readdir(inFolder(folders[0] ?? ''))).toEqual([]);
    await expectSingle(folders[1] ?? '');
    expect(await readdir(inFolder(folders[2] ?? ''))).toEqual([]);
    expect((await cli(['get', open, '-o', await newFolder()])).code).toBe(5);
  });

  test('with a password it goes on too, and a wrong one costs nothing', async () => {
    await writeFile(inFolder('password'), 'pw\n');
    const password = ['--password-file', 'password'];
    const link = await sent('single.bin', ...password);
    const received = await newFolder();
    await stopped('SIGKILL', [link, ...password], received);
    const get = (env: Record<string, string>) => cli(['get', link, '-o', received], { env });
    expect((await get({})).code).toBe(6);
    expect((await get({ MAYFLY_PASSWORD: 'guess' })).err).toBe('mayfly: The password is wrong\n');
    expect((await get({ MAYFLY_PASSWORD: 'pw' })).err).toMatch(/^Continuing at [1-9]\d* %\.\n$/);
    await expectSingle(received);
  });

  test('two at once into one folder do not disturb each other, and what one leaves is found', async () => {
    const link = await sent('single.bin', '--downloads', '2');
    const received = await newFolder();
    proxy().downloadBytesPerSec = SLOW;
    const haveBegun = async () => {
      const parts = (await readdir(inFolder(received))).filter((name) => name.endsWith('.part'));
      const records = await Promise.all(
        parts.map((name) => readFile(inFolder(received, name, 'record.json'), 'utf8').catch(() => '')),
      );
      return records.filter((text) => text && JSON.parse(text).position.bytes > 0).length > 1;
    };
    const [one, two] = await Promise.all([
      cli(['get', link, '-o', received], { signalWhen: { signal: 'SIGKILL', isTime: haveBegun } }),
      cli(['get', link, '-o', received]),
    ]);
    proxy().downloadBytesPerSec = Number.POSITIVE_INFINITY;
    expect([one.code, two.code]).toEqual([-1, 0]);
    expect((await cli(['get', link, '-o', received, '--force'])).err).toMatch(/^Continuing at \d+ %/);
    await expectSingle(received);
    expect((await cli(['get', link, '-o', await newFolder()])).code).toBe(5);
  });

  test('what was kept and has changed is received anew, as the same download', async () => {
    const link = await sent('single.bin');
    const received = await newFolder();
    await stopped('SIGKILL', [link], received);
    await truncate(join((await partOf(received)) ?? '', '0'), 5);
    const { code, err } = await cli(['get', link, '-o', received]);
    expect([code, err]).toEqual([0, 'Continuing at 0 %: what was kept of it has changed.\n']);
    await expectSingle(received);
  });

  test('-o names a file for one file, and a folder for several', async () => {
    const [single, album] = await Promise.all([
      sent('single.bin', '--downloads', '10'),
      sent('album', '--downloads', '10'),
    ]);
    const received = await newFolder();
    const get = (link: string, output: string, ...more: string[]) =>
      cli(['get', link, '-o', `${received}/${output}`, ...more]);
    expect((await get(single, 'photo.jpg')).out).toBe(`${received}/photo.jpg\n`);
    await expectSingle(received, 'photo.jpg');
    const [again, asFolder, below, named] = await Promise.all([
      get(single, 'photo.jpg'),
      get(album, 'photo.jpg'),
      get(single, 'new/folder/'),
      get(album, 'named'),
    ]);
    expect([again.code, again.err]).toEqual([
      12,
      expect.stringContaining('photo.jpg already exists; nothing was downl'),
    ]);
    expect([asFolder.code, asFolder.err]).toEqual([
      2,
      `mayfly: ${received}/photo.jpg is not a folder, and it was sent as 4 files that go into a folder: -o FOLDER names another one\n`,
    ]);
    expect(below.out).toBe(`${received}/new/folder/single.bin\n`);
    expect(named.code).toBe(0);
    await expectAlbum(`${received}/named`);
    await symlink('/dev/null', inFolder(received, 'device'));
    expect((await get(single, 'device', '--force')).err).toContain('is not a file that can be replaced; -o - writes');
    const note = (await cli(['note', 'words'])).out.trim();
    expect((await get(note, 'words.txt')).out).toBe(`${received}/words.txt\n`);
    // What was stopped goes on under the name that was chosen.
    const file = await newFolder();
    await stopped('SIGKILL', [single], `${file}/`);
    expect((await cli(['get', single, '-o', `${file}/other`])).err).toMatch(/^Continuing at/);
    await expectSingle(file, 'other');
  });

  test('--only: what is named and nothing else travels, and a name that does not occur spends nothing', async () => {
    const link = await sent('album', '--downloads', '4');
    const received = await newFolder();
    const wrong = await cli(['get', link, '-o', received, '--only', 'secnd.txt']);
    expect([wrong.code, wrong.err]).toEqual([
      2,
      'mayfly: There is no "secnd.txt" in it. Similar: album/second.txt; mayfly info LINK lists all names\n',
    ]);
    proxy().downloadedBytes = 0;
    const names = ['--only', 'album/second.txt', '--only', 'album/empty'];
    const { out } = await cli(['get', link, '-o', received, ...names, '--json']);
    expect(JSON.parse(out).files).toEqual([
      { path: `${received}/album/empty`, size: 0 },
      { path: `${received}/album/second.txt`, size: 6 },
    ]);
    expect(proxy().downloadedBytes).toBeLessThan(256 * 1024);
    expect((await readdir(inFolder(received, 'album'))).toSorted()).toEqual(['empty', 'second.txt']);
    const piped = await cli(['get', link, '-o', '-', '--only', 'album/sub/third.bin']);
    expect(ALBUM['album/sub/third.bin']?.equals(piped.stdout)).toBe(true);
    const several = await cli(['get', link, '-o', '-', '--only', 'album']);
    expect([several.code, several.err]).toEqual([2, expect.stringContaining('--only names 4')]);
    const info = JSON.parse((await cli(['info', link, '--json'])).out);
    expect(info.downloadCount).toBe(2);
  });

  test('--only goes on in the middle of a file, and keeps the whole ones', async () => {
    const link = await sent('album');
    const received = await newFolder();
    const names = ['--only', 'album/sub', '--only', 'album/first.bin'];
    const { err } = await stopped('SIGKILL', [link, ...names], received, 7_500_000);
    expect(err).toBe('');
    proxy().downloadedBytes = 0;
    const { code, err: said } = await cli(['get', link, '-o', received, ...names]);
    expect([code, said]).toEqual([0, expect.stringMatching(/^Continuing at [3-9]\d %\.\n$/)]);
    expect(proxy().downloadedBytes).toBeLessThan(8_000_000);
    for (const name of ['album/first.bin', 'album/sub/third.bin']) {
      expect(ALBUM[name]?.equals(await readFile(inFolder(received, name)))).toBe(true);
    }
  });
});
