import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { inSuite } from '@mayfly/testing/in-suite';
import { serve } from '@mayfly/testing/listen';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import type { Release } from '@mayfly/vocabulary/pages';
import { describe, expect, test } from 'vitest';
import { runCli } from '../support/mayfly-cli.ts';

type Answer = { status: number; headers: OutgoingHttpHeaders; body: Buffer };
type Change = (answer: Answer, path: string, userAgent: string) => Answer;
type Told = { isSame: boolean; checked: number; differences: { path: string; browser: string; problem: string }[] };

const RELEASE = join(process.env.TEST_WEB_DIR ?? '', 'release.json');
const release: Release = JSON.parse(readFileSync(RELEASE, 'utf8'));
const files = Object.keys(release.files).filter((path) => path !== '/');
const BROWSERS = ['Chrome', 'Firefox'];
const DIFFERENT = 21;

/** Between a client and the service: what it changes is decoded, and goes on as it is. */
async function changingProxy(stack: AsyncDisposableStack, target: string, change: Change): Promise<string> {
  const { url: own } = stack.use(
    await serve(({ url = '', headers }, response) => {
      const { 'accept-encoding': _, host, ...others } = headers;
      const asked = request(new URL(url, target), { headers: others, agent: false }, async (answer) => {
        const got = {
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: Buffer.concat(await answer.toArray()),
        };
        const changed = change(got, url, headers['user-agent'] ?? '');
        response.writeHead(changed.status, { ...changed.headers, 'content-length': changed.body.length });
        response.end(changed.body);
      });
      asked.on('error', () => response.destroy());
      asked.end();
    }),
  );
  return own;
}

function withFlippedBit(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const at = randomInt(bytes.length);
  changed[at] = (changed[at] ?? 0) ^ (1 << randomInt(8));
  return changed;
}

/** Still a header: of a printable character the lowest bit makes another one, but for the last. */
function withFlippedCharacter(value: string): string {
  const at = randomInt(value.length);
  return `${value.slice(0, at)}${String.fromCharCode(value.charCodeAt(at) ^ 1)}${value.slice(at + 1)}`;
}

describe.each(SHAPES)('mayfly verify (%s)', (shape) => {
  const brand = {
    BRAND_NAME: 'Example Files',
    BRAND_COLOR: '#803010',
    LINK_PRIVACY: 'https://files.example/privacy',
  };
  const { TEST_WEB_DIR = '' } = process.env;
  const running = inSuite(() =>
    startShape(shape, { WEB_DIR: TEST_WEB_DIR, ...brand, INTEGRITY_POLICY: 'enforce', WAICT: 'report' }),
  );
  const folder = inSuite(freshFolder);
  const verify = (server: string, ...options: string[]) =>
    runCli(['verify', server, '--release', RELEASE, ...options], { cwd: folder().path });
  async function told(change: Change): Promise<Told & { code: number }> {
    await using own = new AsyncDisposableStack();
    const { code, out } = await verify(await changingProxy(own, running().baseUrl, change), '--json');
    return { code, ...JSON.parse(out) };
  }

  test('finds nothing on an unchanged server, whatever brand and headers its operator has set', async () => {
    const { code, out, err } = await verify(running().baseUrl);
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining(`serves Mayfly ${release.version}`) });
    expect(err).toContain('Others may be sent something else');
    const { isSame, checked } = await told((answer) => answer);
    expect(isSame).toBe(true);
    expect(checked).toBe(2 * (files.length + release.pages.length + 2)); // a page that is none, and release.json
  });

  test('names every file of which one bit is another one', async () => {
    const { code, differences } = await told((answer, path) =>
      files.includes(path) ? { ...answer, body: withFlippedBit(answer.body) } : answer,
    );
    expect(code).toBe(DIFFERENT);
    const named = (browser: string) => differences.filter((one) => one.browser === browser).map(({ path }) => path);
    for (const browser of BROWSERS) expect(named(browser).sort()).toEqual(files.toSorted());
    expect(differences.filter(({ problem }) => !problem.startsWith('other bytes: SHA-256 '))).toEqual([]);
  });

  test('names the one file, and nothing else', async () => {
    const kinds = [/\/worker-.*\.js$/, /\/handover\/service-worker\.js$/, /\.wasm$/, /\.css$/, /.*/];
    for (const kind of kinds) {
      const candidates = files.filter((path) => kind.test(path));
      const [changed = ''] = candidates.splice(randomInt(candidates.length), 1);
      const { code, differences } = await told((answer, path) =>
        path === changed ? { ...answer, body: withFlippedBit(answer.body) } : answer,
      );
      expect(code).toBe(DIFFERENT);
      expect(differences.map(({ path }) => path)).toEqual([changed, changed]);
    }
  });

  test('names each header that is changed, missing or not wanted', async () => {
    const names = [...Object.keys(release.headers), 'content-type'];
    const changes: [string, (headers: OutgoingHttpHeaders) => void][] = [
      ...names.map((name): (typeof changes)[number] => [
        name,
        (headers) => {
          headers[name] = withFlippedCharacter(String(headers[name]));
        },
      ]),
      ...names.map((name): (typeof changes)[number] => [`no header ${name}`, (headers) => delete headers[name]]),
      ...['set-cookie', 'service-worker-allowed', 'link', 'refresh', 'report-to'].map(
        (name): (typeof changes)[number] => [
          `unwanted header ${name}`,
          (headers) => {
            headers[name] = '/';
          },
        ],
      ),
    ];
    // Each change in an answer of its own.
    const changeOf = (path: string) => changes[files.indexOf(path)];
    const { differences } = await told((answer, path) => {
      changeOf(path)?.[1](answer.headers);
      return answer;
    });
    expect(changes.length).toBeGreaterThan(15);
    for (const [index, [name]] of changes.entries()) {
      const problems = differences.filter(({ path }) => path === files[index]).map(({ problem }) => problem);
      expect(problems).toEqual([expect.stringContaining(name), expect.stringContaining(name)]);
    }
    expect(new Set(differences.map(({ path }) => path)).size).toBe(changes.length);
  });

  test('finds what only one browser is sent, and only at the address of a link', async () => {
    const { code, differences } = await told((answer, path, userAgent) =>
      path.startsWith('/d/') && userAgent.includes('Firefox')
        ? { ...answer, body: Buffer.concat([answer.body.subarray(0, -1), Buffer.from(' ')]) }
        : answer,
    );
    expect(code).toBe(DIFFERENT);
    expect(differences).toEqual([
      { path: expect.stringMatching(/^\/d\/[0-9a-f-]{36}$/), browser: 'Firefox', problem: expect.any(String) },
    ]);
  });

  test('says what differs and how many addresses that are, in words', async () => {
    await using own = new AsyncDisposableStack();
    const proxy = await changingProxy(own, running().baseUrl, (answer, path) =>
      path === '/offline.js'
        ? { ...answer, status: 302, headers: { location: 'https://elsewhere.example/\u0080' } }
        : answer,
    );
    const { code, out, err } = await verify(proxy);
    expect(code).toBe(DIFFERENT);
    expect(out).toBe(
      '/offline.js: answers 302 instead of 200, and leads to "https://elsewhere.example/\\u{80}" (Chrome, Firefox)\n',
    );
    expect(err).toMatch(/^mayfly: .* does not serve Mayfly .* as it was published: 1 address differs;/);
  });

  test('watches until something differs', async () => {
    await using own = new AsyncDisposableStack();
    let looks = 0;
    const proxy = await changingProxy(own, running().baseUrl, (answer, path, userAgent) => {
      if (path === '/icon.svg' && userAgent.includes('Chrome')) looks += 1;
      return looks > 2 && path === '/icon.svg' ? { ...answer, body: withFlippedBit(answer.body) } : answer;
    });
    const { code, out } = await verify(proxy, '--watch', '1', '--json');
    const rounds = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Told);
    expect(rounds.map(({ isSame }) => isSame)).toEqual([true, true, false]);
    expect(code).toBe(DIFFERENT);
  });
});

test('mayfly verify tells a server that is not there, and a list that is none, apart from a difference', async () => {
  await using folder = await freshFolder();
  const run = (...args: string[]) => runCli(['verify', ...args], { cwd: folder.path });
  expect((await run('http://127.0.0.1:9', '--release', RELEASE)).code).toBe(9);
  expect((await run('http://127.0.0.1:9', '--release', import.meta.filename)).code).toBe(2);
  expect((await run('http://127.0.0.1:9', '--release', '99.0.0')).code).toBe(2);
  expect((await run('not an address', '--release', RELEASE)).code).toBe(2);
});
