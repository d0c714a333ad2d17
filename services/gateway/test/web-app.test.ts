import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { createApp } from '@mayfly/shared/app';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { brandFiles } from '../src/brand.ts';
import { readWebApp } from '../src/web-app.ts';
import { silent, startGateway, upstreamTo } from './start-gateway.ts';

const MAP = '{"integrity":{}}';
const HTML = `<!doctype html><title>t</title><script type="importmap">${MAP}</script><script type="module" src="/assets/a-1.js"></script>`;
const SCRIPT = 'console.log("a");'.repeat(100);

async function start(settings: Record<string, string> = {}, brand: Parameters<typeof brandFiles>[0] = {}) {
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
  const upstream = await upstreamTo(stack, service, 'local');
  const web = readWebApp(folder.path);
  for (const [path, file] of brandFiles(brand)) web.files.set(path, file);
  const { url } = stack.use(await startGateway(upstream, { web }, settings));
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
      // Previews are pictures, sound, video and text, and never a frame.
      "img-src 'self' data: blob:;",
      'media-src blob:;',
      "frame-src 'self';",
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

test.each(['GET', 'HEAD'])(
  '%s: a person at an address that is none gets a page, with the status of the contract',
  async (method) => {
    await using gateway = await start();
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const { status, headers, body } = await get(
      `${gateway.url}/nonsense?x=1`,
      { accept, 'if-none-match': '*' },
      method,
    );
    expect({ status, body: body.toString() }).toEqual({ status: 404, body: method === 'GET' ? HTML : '' });
    expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    expect(String(headers['content-security-policy'])).toContain("default-src 'none'");
  },
);

test.each([
  ['a program', '/nonsense', '*/*', 'GET'],
  ['nobody in particular', '/nonsense', undefined, 'GET'],
  ['a person below /api', '/api/nonsense', 'text/html', 'GET'],
  ['a form', '/nonsense', 'text/html', 'POST'],
])('%s at an address that is none gets the answer of the contract', async (_, path, accept, method) => {
  await using gateway = await start();
  const { status, body } = await get(gateway.url + path, accept ? { accept } : {}, method);
  expect({ status, body: body.toString() }).toEqual({ status: 404, body: '{"error":"Not Found"}' });
});

test('the brand is what the operator has set, and nothing without a setting', async () => {
  await using plain = await start();
  expect((await get(`${plain.url}/brand.json`)).body.toString()).toBe('{}');
  await using folder = await freshFolder();
  const logo = join(folder.path, 'logo.svg');
  await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  const LINK_REPORT = 'mailto:abuse@files.example';
  const settings = { BRAND_NAME: 'Example Files', BRAND_COLOR: '#8a2be2', BRAND_LOGO: logo, LINK_REPORT };
  await using gateway = await start({}, settings);
  const { headers, body } = await get(`${gateway.url}/brand.json`);
  expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' });
  expect(JSON.parse(body.toString())).toEqual({
    name: 'Example Files',
    color: '#8a2be2',
    logo: '/brand-logo.svg',
    links: { report: LINK_REPORT },
  });
  const shown = await get(`${gateway.url}/brand-logo.svg`);
  expect(shown.headers['content-type']).toBe('image/svg+xml');
  expect(shown.headers['content-security-policy']).toBe("default-src 'none'; style-src 'unsafe-inline'; sandbox");
});

test('a logo that cannot be shown prevents the start, in one sentence', async () => {
  await using folder = await freshFolder();
  const path = (name: string) => join(folder.path, name);
  await writeFile(path('large.png'), Buffer.alloc(64 * 1024 + 1));
  const logos = {
    'none.svg': 'cannot be read',
    'large.png': 'is larger than 64 KiB',
    'logo.html': 'ends with .svg or .png',
  };
  for (const [name, reason] of Object.entries(logos))
    expect(() => brandFiles({ BRAND_LOGO: path(name) })).toThrow(reason);
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
