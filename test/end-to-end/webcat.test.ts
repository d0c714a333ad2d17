import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import type { Release } from '@mayfly/vocabulary/pages';
import { webcatConfig, webcatManifest } from '@mayfly/web/webcat';
import { describe, expect, test } from 'vitest';

// Decision manifests-for-webcat. What the extension asks of an enrolled service, read from its rules of July 2026 and written anew.

const { TEST_WEB_DIR: webDir = '' } = process.env;
const release: Release = JSON.parse(readFileSync(join(webDir, 'release.json'), 'utf8'));
const APP = 'https://mayfly.example';
const manifest = webcatManifest(release, APP);
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';

/** What a policy may allow, by directive; any other directive is free. */
const ALLOWED: Record<string, RegExp> = {
  'script-src': /^'(none|self|wasm-unsafe-eval|sha(256|384|512)-[A-Za-z0-9+/=]+)'$/,
  'style-src': /^'(none|self|unsafe-inline|unsafe-hashes|sha(256|384|512)-[A-Za-z0-9+/=]+)'$/,
  'object-src': /^'none'$/,
  'worker-src': /^'(none|self)'$/,
};
/** They come from elsewhere, or lead there. */
const FORBIDDEN_HEADERS = ['link', 'refresh', 'location', 'origin-agent-cluster'];

function faultsOfPolicy(policy: string): string[] {
  const directives = policy.split(';').map((part) => part.trim().split(/\s+/));
  const others = directives.flatMap(([name = '', ...sources]) =>
    sources.filter((source) => ALLOWED[name]?.test(source) === false).map((source) => `${name} ${source}`),
  );
  const isClosed = directives.some((parts) => parts.join(' ') === "default-src 'none'");
  return [...others, ...(isClosed ? [] : ["not default-src 'none'"]), ...(policy.includes(',') ? ['a comma'] : [])];
}

function policyFor(path: string): string {
  const { extra_csp, default_csp, default_index } = manifest;
  const asked = path === '/' ? default_index : path;
  const fitting = Object.keys(extra_csp).filter((start) => asked.startsWith(start));
  const longest = fitting.sort((a, b) => b.length - a.length)[0];
  return (longest && extra_csp[longest]) ?? default_csp;
}

function hashFor(path: string): string | undefined {
  const { files, default_index, default_fallback } = manifest;
  return files[path] ?? (path.endsWith('/') ? files[path + default_index] : files[default_fallback]);
}

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('base64url');

test('the manifest has every file of the release, and the page for addresses of links', () => {
  const { files, default_index, default_fallback, wasm } = manifest;
  const served = Object.keys(release.files).map((path) => (path === '/' ? '/index.html' : path));
  expect(Object.keys(files).sort()).toEqual(served.sort());
  for (const [path, hash] of Object.entries(files)) expect(sha256(readFileSync(join(webDir, path))), path).toBe(hash);
  expect(files[`/${default_index}`]).toBe(files[default_fallback]);
  expect(wasm.length).toBe(release.wasm.length);
  for (const hash of wasm) expect(hash).toMatch(/^[\w-]{43}$/);
  const { files: _, ...rest } = manifest;
  expect(webcatConfig(release, `${APP}/`)).toEqual(rest);
});

test('its policies are such as the extension takes', () => {
  for (const policy of [manifest.default_csp, ...Object.values(manifest.extra_csp)]) {
    expect(faultsOfPolicy(policy), policy).toEqual([]);
  }
  expect(faultsOfPolicy("default-src 'self'; script-src 'self' 'nonce-abc'")).toHaveLength(2);
});

describe.each(SHAPES)('what WEBCAT compares (%s)', (shape) => {
  const running = inSuite(() => startShape(shape, { WEB_DIR: webDir }));

  test('every page and file is sent with the bytes and the policy of the manifest, and nothing else that it refuses', async () => {
    const pages = ['/', '/uploads', '/request', `/d/${ID}`, `/n/${ID}`, `/r/${ID}`, '/nonsense'];
    for (const path of [...pages, ...Object.keys(manifest.files).filter((path) => path !== '/index.html')]) {
      const answer = await fetch(running().baseUrl + path, {
        headers: { accept: 'text/html' },
        redirect: 'manual',
      });
      expect(answer.headers.get('content-security-policy'), path).toBe(policyFor(path));
      expect(sha256(new Uint8Array(await answer.arrayBuffer())), path).toBe(hashFor(path));
      for (const name of FORBIDDEN_HEADERS) expect(answer.headers.has(name), `${path}: ${name}`).toBe(false);
    }
  });

  test('what the app asks for is sent under the policy that the manifest names', async () => {
    const asked = [
      '/brand.json',
      '/release.json',
      '/api/config',
      '/api/health',
      `/api/info/${ID}`,
      `/api/download/${ID}`,
    ];
    for (const path of asked) {
      const { headers } = await fetch(running().baseUrl + path);
      expect(headers.get('content-security-policy'), path).toBe(policyFor(path));
    }
  });
});
