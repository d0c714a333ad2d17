import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { freshFolder } from '@mayfly/local-stores/testing';
import { createApp } from '@mayfly/shared/app';
import { loadConfig } from '@mayfly/shared/config';
import { bodySettings } from '@mayfly/shared/settings';
import { expect, test } from 'vitest';
import { localUpstream } from '../src/index.ts';
import { fairnessSettings, limitSettings } from '../src/settings.ts';
import { readWebApp } from '../src/web-app.ts';
import { silent, startGateway } from './start-gateway.ts';

const MAP = '{"integrity":{}}';
const HTML = `<!doctype html><title>t</title><script type="importmap">${MAP}</script><script type="module" src="/assets/a-1.js"></script>`;
const SCRIPT = 'console.log("a");'.repeat(100);

async function start(settings: Record<string, string> = {}) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await freshFolder());
  const files: Record<string, string | Buffer> = {
    'index.html': HTML,
    'pages.json': '{"/":"send","/d/:id":"file","/n/:id":"note","/uploads":"uploads"}',
    'icon.svg': '<svg/>',
    'assets/a-1.js': SCRIPT,
    'assets/a-1.js.br': brotliCompressSync(SCRIPT),
    'assets/a-1.js.gz': gzipSync(SCRIPT),
    'handover/service-worker.js': '// worker',
    '.built-from': 'a secret of the build',
  };
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder.path, name, '..'), { recursive: true });
    await writeFile(join(folder.path, name), content);
  }
  const service = createApp({ logger: silent });
  stack.adopt(service, (app) => app.close());
  const { url } = stack.use(
    await startGateway(await localUpstream(service), {
      web: readWebApp(folder.path),
      settings: loadConfig(
        { ...limitSettings, ...fairnessSettings, ...bodySettings },
        { RATE_LIMIT_MAX: '0', ...settings },
      ),
    }),
  );
  return { url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** As it is on the wire: `fetch` decodes what it gets. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>((resolve, reject) => {
    request(url, { headers, method }, async (answer) => {
      const body = Buffer.concat(await answer.toArray());
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
    })
      .on('error', reject)
      .end();
  });
}

test.each(['/', '/d/00000000-0000-4000-8000-000000000000', '/n/anything', '/uploads'])(
  '%s is the document, never stored, under a policy that lets only its own scripts run',
  async (path) => {
    await using gateway = await start();
    const { status, headers, body } = await get(gateway.url + path);
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: HTML });
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    });
    const policy = String(headers['content-security-policy']);
    const hash = createHash('sha256').update(MAP).digest('base64');
    expect(policy).toContain(`script-src 'self' 'wasm-unsafe-eval' 'sha256-${hash}';`);
    for (const rule of [
      "default-src 'none'",
      "require-trusted-types-for 'script'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toMatch(/unsafe-inline|'unsafe-eval'|\*|https?:/);
  },
);

test('what is named by its content is kept for a year, compressed as the client likes', async () => {
  await using gateway = await start();
  const url = `${gateway.url}/assets/a-1.js`;
  const best = await get(url, { 'accept-encoding': 'gzip, deflate, br' });
  expect(best.headers).toMatchObject({
    'content-encoding': 'br',
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
  });
  expect(brotliDecompressSync(best.body).toString()).toBe(SCRIPT);
  expect((await get(url, { 'accept-encoding': 'br;q=0, gzip' })).headers['content-encoding']).toBe('gzip');
  const plain = await get(url);
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.body.toString()).toBe(SCRIPT);
});

test('a file that may change is asked for again, and the service worker is never stored', async () => {
  await using gateway = await start();
  const { headers } = await get(`${gateway.url}/icon.svg`);
  expect(headers['cache-control']).toBe('no-cache');
  expect((await get(`${gateway.url}/icon.svg`, { 'if-none-match': String(headers.etag) })).status).toBe(304);
  expect((await get(`${gateway.url}/handover/service-worker.js`)).headers['cache-control']).toBe('no-store');
});

test('HEAD of a page has the headers and no body', async () => {
  await using gateway = await start();
  const { status, headers, body } = await get(`${gateway.url}/`, {}, 'HEAD');
  expect({ status, length: headers['content-length'], body: body.length }).toEqual({
    status: 200,
    length: String(HTML.length),
    body: 0,
  });
});

test('nothing else of the folder, or beside it, can be reached', async () => {
  await using gateway = await start();
  for (const path of [
    '/.built-from',
    '/index.html',
    '/pages.json',
    '/assets/a-1.js.br',
    '/assets/',
    '/assets/../.built-from',
    '/assets/%2e%2e/.built-from',
    '/x',
  ]) {
    expect((await get(gateway.url + path)).status).toBe(404);
  }
});

test('pages and their files do not count against the limit', async () => {
  await using gateway = await start({ RATE_LIMIT_MAX: '1' });
  for (let times = 0; times < 5; times += 1) {
    for (const path of ['/', '/d/x', '/assets/a-1.js']) expect((await get(gateway.url + path)).status).toBe(200);
  }
});

test('a folder without a web app prevents the start, in one sentence', async () => {
  await using folder = await freshFolder();
  expect(() => readWebApp(folder.path)).toThrow('WEB_DIR holds no index.html');
  expect(() => readWebApp(join(folder.path, 'missing'))).toThrow('WEB_DIR holds no index.html');
});
