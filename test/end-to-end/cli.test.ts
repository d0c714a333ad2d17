import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { formatLink, parseAddress, parseLink } from '@mayfly/client';
import { freshFolder } from '@mayfly/testing/stores';
import { openTamperingProxy } from '@mayfly/testing/tampering-proxy';
import { expect, test } from 'vitest';
import { cliFolder } from '../support/cli-folder.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { runCli } from '../support/mayfly-cli.ts';

const MIB = 1024 * 1024;
const SIZE_MIB = Number(process.env.CLI_TEST_MIB || 84);
const SMALL_MIB = 16;
const PACKAGE = fileURLToPath(new URL('../../apps/cli', import.meta.url));
const run = promisify(execFile);

describeEachShape('the command line', { RATE_LIMIT_MAX: '100000' }, (service) => {
  const { inFolder, cli, ok, newFolder } = cliFolder(() => service.running.baseUrl);
  const sent = async (...args: string[]) => (await ok(['send', ...args])).out.trim();

  test('a file goes from one command to another: the link alone on stdout, the file under its name', async () => {
    const bytes = randomBytes(200_000);
    await writeFile(inFolder('report.bin'), bytes);
    const { out, err } = await ok(['send', 'report.bin', '--downloads', '2', '--expires', '1h']);
    expect(out).toMatch(/^http:\S+\/d\/\S{36}#\S{48}\n$/);
    expect(err).toMatch(/^Good for 2 downloads or (1 hour|60 minutes)\. To delete it sooner: mayfly delete \S{36}\n$/);
    const received = await newFolder();
    expect((await ok(['get', out.trim(), '-o', received])).out).toBe(`${received}/report.bin\n`);
    expect(bytes.equals(await readFile(inFolder(received, 'report.bin')))).toBe(true);
    expect(await readdir(inFolder(received))).toEqual(['report.bin']);
  });

  test('a download whose connection breaks again and again arrives, and is one download', async () => {
    const bytes = randomBytes(3_000_000);
    await writeFile(inFolder('cut.bin'), bytes);
    const link = await parseLink(await sent('cut.bin', '--downloads', '2'));
    await using proxy = await openTamperingProxy(service.running.baseUrl);
    proxy.tampering = { kind: 'cut', at: 700_000 };
    const received = await newFolder();
    const { code, err } = await cli(['get', await formatLink({ ...link, baseUrl: proxy.url }), '-o', received]);
    expect([code, err.replace('mayfly: The service cannot be reached; trying again\n', '')]).toEqual([0, '']);
    expect(bytes.equals(await readFile(inFolder(received, 'cut.bin')))).toBe(true);
    expect((await service.api.info(link.id)).body.downloadCount).toBe(1);
  });

  test('files and folders travel as one archive and come back with their folders', async () => {
    await mkdir(inFolder('album/sub'), { recursive: true });
    await writeFile(inFolder('album/one.txt'), 'one');
    await writeFile(inFolder('album/sub/two.txt'), 'two');
    await writeFile(inFolder('lone.txt'), 'lone');
    // Together more than the service counts.
    for (let number = 0; number < 30; number += 1) await writeFile(inFolder(`album/sub/${number}`), `${number}`);
    const link = await sent('album', 'lone.txt', '--downloads', '2');
    const { out } = await ok(['info', link, '--json']);
    expect(JSON.parse(out)).toMatchObject({ kind: 'upload', fileCount: 33, hasPassword: false, maxDownloads: 2 });
    const received = await newFolder();
    await ok(['get', link, '-o', received]);
    expect(await readFile(inFolder(received, 'album/sub/two.txt'), 'utf8')).toBe('two');
    expect(await readFile(inFolder(received, 'lone.txt'), 'utf8')).toBe('lone');
    expect(await readdir(inFolder(received, 'album/sub'))).toHaveLength(31);
    const { stdout } = await ok(['get', link, '-o', '-']);
    expect(stdout.subarray(0, 4).toString('latin1')).toBe('PK\u0003\u0004');
  });

  test('stdin goes in, stdout comes out', async () => {
    const bytes = randomBytes(1_000_000);
    const { out } = await ok(['send', '-', '--name', 'backup.tar', '--downloads', '2'], { stdin: bytes });
    const [{ stdout }, info] = await Promise.all([
      ok(['get', out.trim(), '-o', '-']),
      ok(['info', out.trim(), '--json']),
    ]);
    expect(bytes.equals(stdout)).toBe(true);
    expect(JSON.parse(info.out).files).toEqual([{ name: 'backup.tar', type: '', size: 1_000_000 }]);
  });

  test('a note from an argument, from stdin, and as a password; printed, as JSON, into a folder', async () => {
    const made = await Promise.all([
      ok(['note', 'Grüße', '--views', '3', '--type', 'markdown']),
      ok(['note', '-'], { stdin: Buffer.from('line\n') }),
      ok(['note', '--type', 'password'], { stdin: Buffer.from('s3cret\n') }),
    ]);
    const [words = '', piped = '', secret = ''] = made.map(({ out }) => out.trim());
    const read = Promise.all([ok(['get', piped]), ok(['get', secret])]);
    expect((await ok(['info', words])).out).toMatch(/^note\n3 of 3 views left/);
    expect((await ok(['get', words])).out).toBe('Grüße');
    const { out } = await ok(['get', words, '--json']);
    expect(JSON.parse(out)).toMatchObject({ text: 'Grüße', contentType: 'markdown', viewCount: 2, maxViews: 3 });
    const received = await newFolder();
    const saved = (await ok(['get', words, '-o', received])).out.trim();
    expect(saved).toMatch(/\/note-[0-9a-f]{8}\.md$/);
    expect(await readFile(inFolder(saved), 'utf8')).toBe('Grüße');
    expect((await stat(inFolder(saved))).mode & 0o777).toBe(0o600);
    expect((await cli(['get', words])).code).toBe(5);

    expect((await read).map(({ out }) => out)).toEqual(['line\n', 's3cret']);
  });

  test('a password comes from the environment or a file; a wrong one is told and spends nothing', async () => {
    await writeFile(inFolder('locked.txt'), 'locked');
    await writeFile(inFolder('password'), 'from a file\n');
    const [link, note] = await Promise.all([
      sent('locked.txt', '--password-file', 'password'),
      ok(['note', 'x', '--password'], { env: { MAYFLY_PASSWORD: 'pw' } }),
    ]);
    expect((await parseLink(link)).protection).toEqual({ passwordAlgo: 'argon2id', isSealed: true });
    const received = await newFolder();
    const get = (env: Record<string, string>) => cli(['get', link, '-o', received], { env });
    const [unasked, wrong, unaskable, argument] = await Promise.all([
      get({}),
      get({ MAYFLY_PASSWORD: 'guess' }),
      cli(['send', 'locked.txt', '--password']),
      cli(['send', 'locked.txt', '--password=secret']),
    ]);
    expect([unasked.code, unasked.err]).toEqual([6, 'mayfly: It is protected by a password\n']);
    expect([wrong.code, wrong.err]).toEqual([6, 'mayfly: The password is wrong\n']);
    expect(JSON.parse((await ok(['info', link, '--json'])).out)).toMatchObject({
      downloadCount: 0,
      hasPassword: true,
    });
    expect(unaskable.err).toContain('There is no terminal to ask');
    // There is no way to say one where every user of the machine can read it.
    expect(argument.code).toBe(2);
    const [right, read] = await Promise.all([
      get({ MAYFLY_PASSWORD: 'from a file' }),
      ok(['get', note.out.trim()], { env: { MAYFLY_PASSWORD: 'pw' } }),
    ]);
    expect([right.code, read.out]).toEqual([0, 'x']);
  });

  test('nothing is replaced unasked, and nothing is spent finding that out', async () => {
    await writeFile(inFolder('same.txt'), 'new');
    const link = await sent('same.txt');
    const received = await newFolder();
    await writeFile(inFolder(received, 'same.txt'), 'old');
    const refused = await cli(['get', link, '-o', received]);
    expect([refused.code, refused.err]).toEqual([
      12,
      `mayfly: ${received}/same.txt already exists; nothing was downloaded. -o saves elsewhere, --force replaces\n`,
    ]);
    expect(await readFile(inFolder(received, 'same.txt'), 'utf8')).toBe('old');
    await ok(['get', link, '-o', received, '--force']);
    expect(await readFile(inFolder(received, 'same.txt'), 'utf8')).toBe('new');
  });

  test('what was changed on its way is an error and never a file', async () => {
    await writeFile(inFolder('whole.bin'), randomBytes(200_000));
    const segment = 65_536 + 16;
    const spoil: Record<string, (bytes: Buffer) => Buffer> = {
      'a flipped bit in the last segment': (bytes) => {
        bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
        return bytes;
      },
      'two segments swapped': (bytes) =>
        Buffer.concat([
          bytes.subarray(0, 8),
          bytes.subarray(8 + segment, 8 + 2 * segment),
          bytes.subarray(8, 8 + segment),
          bytes.subarray(8 + 2 * segment),
        ]),
      'a segment replayed': (bytes) =>
        Buffer.concat([
          bytes.subarray(0, 8 + segment),
          bytes.subarray(8, 8 + segment),
          bytes.subarray(8 + 2 * segment),
        ]),
    };
    const link = await sent('whole.bin', '--downloads', '10');
    const { id } = await parseLink(link);
    const whole = await service.running.blobs.read(id);
    for (const [what, change] of Object.entries(spoil)) {
      await service.running.blobs.plant(`${id}.bin`, change(Buffer.from(whole)));
      const received = await newFolder();
      const [result, piped] = await Promise.all([cli(['get', link, '-o', received]), cli(['get', link, '-o', '-'])]);
      expect([result.code, result.err], what).toEqual([
        10,
        'mayfly: It was changed or cut short on its way, or belongs to another link\n',
      ]);
      expect(await readdir(inFolder(received)), what).toEqual([]);
      expect(piped.code, what).toBe(10);
    }
  });

  test('the key of another link is told as one, by links of every age', async () => {
    await writeFile(inFolder('mine'), 'mine');
    const [file, note] = [await sent('mine'), (await ok(['note', 'mine'])).out.trim()];
    for (const link of [file, note]) {
      const { code, out, err } = await cli(['get', `${link.split('#')[0]}#${'B'.repeat(42)}A`, '-o', '-']);
      expect([code, out, err]).toEqual([13, '', 'mayfly: The key in the link, or the owner secret, does not fit\n']);
    }
    expect((await ok(['get', file, '-o', '-'])).out).toBe('mine');
  });

  test('owner secrets: kept at 0600, listed with what the service says, used to delete', async () => {
    const env = { XDG_DATA_HOME: inFolder('owner-data') };
    await writeFile(inFolder('mine.txt'), 'mine');
    const { id } = JSON.parse((await ok(['send', 'mine.txt', '--json'], { env })).out);
    const note = JSON.parse((await ok(['note', 'mine', '--json'], { env })).out);
    const kept = inFolder('owner-data/mayfly/owned');
    for (const name of await readdir(kept)) {
      expect((await stat(join(kept, name))).mode & 0o777).toBe(0o600);
      // Whoever finds the file can delete, not read.
      expect(await readFile(join(kept, name), 'utf8')).not.toContain(note.link.split('#')[1]);
    }
    await ok(['get', note.link], { env });
    const listed = JSON.parse((await ok(['list', '--json'], { env })).out);
    expect(listed).toMatchObject([
      { id, kind: 'upload', name: 'mine.txt', status: 'open', usedCount: 0, maxUses: 1 },
      { id: note.id, kind: 'note', status: 'used up' },
    ]);
    expect(JSON.stringify(listed)).not.toContain('ownerSecret');
    expect((await ok(['list'], { env })).out).toMatch(
      new RegExp(`^${id}  1 of 1 download left, for .*  mine.txt$`, 'm'),
    );
    expect((await ok(['delete', id], { env })).err).toBe('Deleted.\n');
    expect((await service.api.exists(id)).status).toBe(404);
    await ok(['list', '--prune'], { env });
    expect(JSON.parse((await ok(['list', '--json'], { env })).out)).toEqual([]);
  });

  test('a recipient cannot delete; with the owner secret of another machine anybody can', async () => {
    await writeFile(inFolder('theirs.txt'), 'theirs');
    const sender = { XDG_DATA_HOME: inFolder('sender-data') };
    const { id, link } = JSON.parse((await ok(['send', 'theirs.txt', '--json'], { env: sender })).out);
    const elsewhere = { XDG_DATA_HOME: inFolder('recipient-data') };
    const refused = await cli(['delete', link], { env: elsewhere });
    expect([refused.code, refused.err]).toEqual([13, expect.stringContaining('It was not sent from here')]);
    const wrong = await cli(['delete', link], { env: { ...elsewhere, MAYFLY_OWNER_SECRET: 'A'.repeat(43) } });
    expect(wrong.code).toBe(13);
    const { ownerSecret } = JSON.parse(await readFile(inFolder(`sender-data/mayfly/owned/${id}.json`), 'utf8'));
    await ok(['delete', link], { env: { ...elsewhere, MAYFLY_OWNER_SECRET: ownerSecret } });
    // Its own machine learns that when it asks.
    expect((await ok(['delete', id], { env: sender })).err).toBe('It was already gone.\n');
  });

  test('limits are found before anything is encrypted or sent', async () => {
    await writeFile(inFolder('small'), '');
    const large = await open(inFolder('large'), 'w');
    await large.truncate(3 * 1024 * MIB);
    await large.close();
    const [over, choice, views, text] = await Promise.all([
      cli(['send', 'large']),
      cli(['send', 'small', '--expires', '2h']),
      cli(['note', 'x'.repeat(1_000), '--views', '4']),
      cli(['note', '-'], { stdin: Buffer.alloc(MIB + 1, 'x') }),
    ]);
    expect([over.code, over.err]).toEqual([
      8,
      'mayfly: It is 3,222,011,912 bytes when encrypted; the service accepts 2,148,532,224 (2.1 GB)\n',
    ]);
    expect([choice.code, choice.err]).toEqual([
      2,
      expect.stringMatching(/^mayfly: --expires 2h is not offered by this service; choose .*1h, 1d\n$/),
    ]);
    expect(views.err).toContain('choose 1, 2, 3, 5, 10');
    expect([text.code, text.err]).toEqual([8, expect.stringContaining('send it as a file')]);
  });

  test('what cannot be sent, found or understood ends with its own code and one sentence', async () => {
    const unknown = `${service.running.baseUrl}/d/00000000-0000-4000-8000-000000000000#${'A'.repeat(43)}`;
    const cases: [string[], number, RegExp][] = [
      [['get', unknown], 3, /There is nothing at this link/],
      [['get', unknown.replace('/d/', '/n/')], 3, /There is nothing at this link/],
      [
        ['get', 'http://127.0.0.1:9/d/00000000-0000-4000-8000-000000000000#'],
        2,
        /^mayfly: The key of this link is missing/,
      ],
      [['info', unknown.replace(/#.*/, '')], 2, /^mayfly: The key of this link is missing/],
      [['get', 'http://127.0.0.1:9/docs'], 2, /^mayfly: This is not a link/],
      [['get', unknown.slice(0, -1)], 2, /^mayfly: This link is incomplete or was changed/],
      [['get', unknown.replace(/:\d+\//, ':9/')], 9, /cannot be reached/],
      [['send', 'is-not-there'], 2, /is-not-there does not exist/],
      [['send', '-', 'other'], 2, /Stdin \(-\) is sent alone/],
      [['send', 'password', 'password', '--name', 'x'], 2, /--name is for one file or folder/],
      [['send', 'password', '--name', 'a/b'], 2, /without a path/],
      [['send', 'password', '--downloads', 'many'], 2, /It must be a whole number from 1/],
      [['send'], 2, /^mayfly: Missing required argument 'file'\n\(see mayfly send --help\)\n$/],
      [['note', 'x', '--type', 'poem'], 2, /Allowed choices are text, markdown, code, password, sshkey/],
      [['nonsense'], 2, /^mayfly: Unknown command 'nonsense'/],
      [['send', 'password', '--nonsense'], 2, /^mayfly: Unknown option '--nonsense'\n\(see mayfly send --help\)\n$/],
      [['send', 'password', '--server', 'ftp://x'], 2, /begins with https/],
    ];
    await writeFile(inFolder('password'), 'pw\n');
    const results = await Promise.all(cases.map(([args]) => cli(args)));
    for (const [index, [args, code, sentence]] of cases.entries()) {
      const result = results[index];
      expect([result?.code, result?.out, result?.err], args.join(' ')).toEqual([
        code,
        '',
        expect.stringMatching(sentence),
      ]);
      expect(result?.err).not.toMatch(/ {4}at /); // no stack
    }
    const [json, unnamed] = await Promise.all([
      cli(['get', unknown, '--json']),
      runCli(['send', 'password'], { cwd: inFolder() }),
    ]);
    expect(JSON.parse(json.err)).toEqual({ error: { code: 'not-found', message: 'There is nothing at this link' } });
    expect(unnamed.err).toContain('Which service?');
  });

  test('a config file names the service and what is chosen when nothing is said', async () => {
    const home = await newFolder(); // the others have no such file
    await mkdir(inFolder(home, '.config/mayfly'), { recursive: true });
    const config = { server: service.running.baseUrl, expires: '1h', downloads: 5, views: 2 };
    await writeFile(inFolder(home, '.config/mayfly/config.json'), JSON.stringify(config));
    await writeFile(inFolder(home, 'configured.txt'), 'x');
    const results = await Promise.all([
      runCli(['send', 'configured.txt', '--json'], { cwd: inFolder(home) }),
      runCli(['note', 'x', '--json', '--views', '3'], { cwd: inFolder(home) }),
    ]);
    expect(results.map(({ out }) => JSON.parse(out))).toMatchObject([{ maxUses: 5 }, { maxUses: 3 }]);
  });

  test('a link goes out before its upload is complete; until then get and info say that it is on its way', async () => {
    const bytes = randomBytes(100_000);
    const stdin = new PassThrough();
    const early = Promise.withResolvers<string>();
    const args = ['send', '-', '--name', 'early.bin', '--announce', '--parts', '--parallel', '2'];
    const sending = ok(args, { stdin, onOut: early.resolve });
    const link = (await Promise.race([early.promise, sending.then(({ err }) => err)])).trim();
    const tooEarly = await Promise.all([cli(['get', link]), cli(['info', link])]);
    for (const { code, err } of tooEarly) {
      expect([code, err]).toEqual([11, 'mayfly: It is still being sent; mayfly get --wait waits for it\n']);
    }
    stdin.end(bytes);
    const { out, err } = await sending;
    expect(out).toBe(`${link}\n`);
    expect(err).toContain('It is complete. Good for 1 download');
    expect(bytes.equals((await ok(['get', link, '--wait', '-o', '-'])).stdout)).toBe(true);
  });

  test('a QR code is shown when asked for, and never comes between a program and the link', async () => {
    const { out, err } = await ok(['note', 'x', '--qr']);
    expect(out).toMatch(/^http\S+\n$/);
    expect(err).toMatch(/^[█▀▄ \n]{500,}Good for/);
  });

  test('links are shown again where the config file says that they are kept, and nowhere else', async () => {
    const config = inFolder('keeps-links.json');
    await writeFile(config, JSON.stringify({ keepLinks: true }));
    const env = { XDG_DATA_HOME: inFolder('kept-links') };
    const keeping = { env: { ...env, MAYFLY_CONFIG: config } };
    const made = [await ok(['note', 'x', '--name', 'the first'], keeping), await ok(['note', 'y'], { env })];
    const [kept = '', other = ''] = made.map(({ out }) => out.trim());
    const idOf = (link: string) => parseAddress(link).id;
    const lines = (await ok(['list'], { env })).out.replaceAll(/, for \d+ \w+ */g, ' ').split('\n');
    expect(lines).toEqual([
      `${idOf(kept)}  1 of 1 view left the first`,
      `  ${kept}`,
      `${idOf(other)}  1 of 1 view left note (text)`,
      '',
    ]);
    const listed = JSON.parse((await ok(['list', '--json'], { env })).out);
    expect(listed.map(({ link }: { link?: string }) => link)).toEqual([kept, undefined]);
  });

  // Once is enough: it is the same command.
  if (service.shape !== 'split') {
    test(`memory of the command stays flat: ${SIZE_MIB} MiB to send, to get, and through pipes`, {
      timeout: 900_000,
    }, async () => {
      // Compared with a size at which every buffer is in use already.
      const small = await peaks(SMALL_MIB);
      const large = await peaks(SIZE_MIB);
      for (const way of ['send', 'get', 'pipe'] as const) {
        const [peak, before] = [large[way], small[way]].map((bytes) => Math.round(bytes / MIB));
        console.log(`${service.shape}, ${way}: ${SIZE_MIB} MiB took ${peak} MiB, ${SMALL_MIB} MiB took ${before} MiB`);
        if (process.platform === 'linux') expect(large[way] - small[way], way).toBeLessThan(96 * MIB); // others do not tell
      }
    });

    test('npm pack makes one bundled file that runs alone', { timeout: 120_000 }, async () => {
      await using apart = await freshFolder();
      const packed = await run('npm', ['pack', '--json', '--pack-destination', apart.path], { cwd: PACKAGE });
      const [{ filename, files }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')));
      expect(files.map(({ path }: { path: string }) => path).toSorted()).toEqual([
        'README.md',
        'dist/LICENSE',
        'dist/mayfly.js',
        'package.json',
      ]);
      await run('tar', ['xzf', filename], { cwd: apart.path });
      const program = join(apart.path, 'package/dist/mayfly.js');
      await symlink(program, join(apart.path, 'mayfly'));
      const env = { MAYFLY_SERVER: service.running.baseUrl };
      const packaged = (...args: string[]) => runCli(args, { cwd: apart.path, env, program });
      expect((await packaged('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect((await packaged('--help')).out).toContain('Usage: mayfly');
      expect((await packaged('completion', 'fish')).out).toContain('complete -c mayfly');
      await writeFile(join(apart.path, 'a.txt'), 'packed');
      const { out } = await runCli(['send', 'a.txt', '--password', '--qr'], {
        cwd: apart.path,
        env: { ...env, MAYFLY_PASSWORD: 'pw' },
        program,
      });
      const link = out.trim();
      const got = await runCli(['get', link, '-o', '-'], {
        cwd: apart.path,
        env: { MAYFLY_PASSWORD: 'pw' },
        program,
      });
      expect(got.out).toBe('packed');
      const wrongKey = await formatLink({ ...(await parseLink(link)), secret: new Uint8Array(32) });
      expect((await packaged('get', wrongKey)).code).toBe(5); // its only download is spent
    });
  }

  /** The peak memory of the command for a file of this size, which must come through whole. */
  async function peaks(sizeMib: number) {
    const digest = await writeRandom(inFolder('big.bin'), sizeMib * MIB);
    const sending = await ok(['send', 'big.bin']);
    const received = await newFolder();
    const [getting, piping] = await Promise.all([
      ok(['get', sending.out.trim(), '-o', received]),
      ok(['send', '-'], { stdin: { path: inFolder('big.bin') } }),
    ]);
    expect(await digestOf(inFolder(received, 'big.bin'))).toBe(digest);
    return { send: sending.peakBytes, get: getting.peakBytes, pipe: piping.peakBytes };
  }
});

async function writeRandom(path: string, sizeBytes: number): Promise<string> {
  const digest = createHash('sha256');
  const file = await open(path, 'w');
  for (let left = sizeBytes; left > 0; ) {
    const piece = randomBytes(Math.min(left, MIB));
    digest.update(piece);
    await file.write(piece);
    left -= piece.length;
  }
  await file.close();
  return digest.digest('hex');
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: MIB }), digest);
  return digest.digest('hex');
}
