import { createHash } from 'node:crypto';
import { createApp } from '@mayfly/shared/app';
import { expect, test } from 'vitest';
import { offerManifest } from '../src/waict.ts';
import { readWebApp } from '../src/web-app.ts';
import { silent, startGateway, upstreamTo } from './start-gateway.ts';

const folder = process.env.TEST_WEB_DIR ?? '';
const sha256 = (bytes: Uint8Array | ArrayBuffer) =>
  createHash('sha256').update(new Uint8Array(bytes)).digest('base64url');
const bytesOf = async (url: string) => (await fetch(url)).arrayBuffer();

async function start(web: ReturnType<typeof readWebApp>) {
  const stack = new AsyncDisposableStack();
  const upstream = await upstreamTo(stack, createApp({ logger: silent }), 'local');
  const { url } = stack.use(await startGateway(upstream, { web }));
  return { url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('every page names a manifest, which is kept for ever under the hash of what it says', async () => {
  await using gateway = await start(offerManifest(readWebApp(folder)));
  for (const page of ['/', '/uploads', '/d/anything']) {
    const { headers } = await fetch(gateway.url + page);
    expect(headers.get('accept-ch')).toBe('Sec-CH-WAICT');
    const policy = headers.get('integrity-policy-waict-v1') ?? '';
    const [, path = '', name] =
      /^max-age=0, mode=report, manifest="(\/\.well-known\/waict\/manifests\/([\w-]{22}))"$/.exec(policy) ?? [];
    const answer = await fetch(gateway.url + path);
    expect(answer.headers.get('content-type')).toBe('application/waict-integrity-manifest');
    expect(answer.headers.get('cache-control')).toMatch(/max-age=31536000, immutable/);
    expect(sha256(await answer.arrayBuffer()).slice(0, 22)).toBe(name);
  }
});

test('the manifest says of everything that is active content what a browser gets', async () => {
  await using gateway = await start(offerManifest(readWebApp(folder)));
  const { headers } = await fetch(gateway.url);
  const [, path = ''] = /manifest="(.+)"/.exec(headers.get('integrity-policy-waict-v1') ?? '') ?? [];
  const body = await (await fetch(gateway.url + path)).text();
  expect(body).toMatch(/\}\n\n$/); // the manifest, and a proof that is empty
  const { hashes, wasm_hashes, fallback_hashes } = JSON.parse(body);
  const document = sha256(await bytesOf(gateway.url));
  expect(fallback_hashes).toEqual([document]);
  for (const page of ['/', '/uploads', '/request']) expect(hashes[page]).toBe(document);
  const paths = Object.keys(hashes).filter((one) => /\.(js|css)$/.test(one));
  expect(paths.length).toBeGreaterThan(80);
  for (const one of paths) expect(`${one} ${hashes[one]}`).toBe(`${one} ${sha256(await bytesOf(gateway.url + one))}`);
  expect(wasm_hashes).toEqual([...new Set(wasm_hashes)].sort());
  expect(wasm_hashes.length).toBeGreaterThan(1);
  for (const hash of wasm_hashes) expect(Buffer.from(hash, 'base64url')).toHaveLength(32);
});

test('without it nothing is said of it', async () => {
  await using gateway = await start(readWebApp(folder));
  const { headers } = await fetch(gateway.url);
  expect([headers.get('accept-ch'), headers.get('integrity-policy-waict-v1')]).toEqual([null, null]);
});
