import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const folder = process.env.TEST_WEB_DIR ?? '';
const read = (path: string) => readFileSync(join(folder, path));
const html = read('index.html').toString();
const gzipped = (path: string) => gzipSync(read(path), { level: 9 }).length;

/** A script and everything that it imports before it can run. */
function withImports(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found;
  found.add(path);
  const text = read(path).toString();
  for (const [, name] of text.matchAll(/(?:^|[;}\s])(?:import|export)[^;()'"`]*?["']\.\/([^"']+)["']/g)) {
    withImports(`assets/${name}`, found);
  }
  return found;
}

const entry = /<script type="module"[^>]* src="\/(assets\/[^"]+)"/.exec(html)?.[1] ?? '';
const [worker = ''] = globSync('assets/worker-*.js', { cwd: folder });

test('the first page loads less than 60 kB of scripts, its worker included', () => {
  const initial = [...withImports(entry), worker];
  const bytes = initial.reduce((sum, path) => sum + gzipped(path), 0);
  console.log(`web app: ${initial.length} scripts for the first page, ${bytes} bytes gzipped`);
  expect(initial).toHaveLength(2); // on a slow link each further one costs more than what it holds
  expect(bytes).toBeGreaterThan(20_000); // else the imports were not found
  expect(bytes).toBeLessThan(60_000);
});

test.each(['offline.js', 'idle.js', 'handover/service-worker.js'])(
  '%s starts by itself: it imports nothing of the page',
  (path) => {
    expect(read(path).toString()).not.toMatch(/\bimport\s*["'{*\w(]|\bfrom\s*["']/);
  },
);

test('file requests and reports, with all that they encrypt with, are less than 30 kB more', () => {
  const scripts = globSync('assets/*.js', { cwd: folder });
  const isOf = (path: string) =>
    /^assets\/(ask|request|request-tasks|report-tasks|portable-kem)-[\w-]{8}\.js$/.test(path);
  expect(scripts.filter(isOf)).toHaveLength(5);
  const all = new Set(scripts.filter(isOf).flatMap((path) => [...withImports(path)]));
  const shared = new Set(scripts.filter((path) => !all.has(path)).flatMap((path) => [...withImports(path)]));
  const own = [...all].filter((path) => !shared.has(path));
  const bytes = own.reduce((sum, path) => sum + gzipped(path), 0);
  console.log(`web app: file requests and reports are ${own.length} scripts of ${bytes} bytes gzipped`);
  expect(bytes).toBeGreaterThan(15_000); // else they were not found
  expect(bytes).toBeLessThan(30_000);
});

test('it is built for people, although a test runner has asked for it', () => {
  const all = globSync('assets/*.js', { cwd: folder }).map((path) => read(path).toString());
  expect(all.filter((text) => text.includes('__svelte_meta'))).toEqual([]);
});

test('Argon2, QR codes and other languages are not among them', () => {
  const initial = [...withImports(entry), ...withImports(worker)].map((path) => read(path).toString()).join('\n');
  for (const later of ['argon2id(', 'Schlüssel', 'numberOfMask']) expect(initial.includes(later)).toBe(false);
  const all = globSync('assets/*.js', { cwd: folder })
    .map((path) => read(path).toString())
    .join('\n');
  for (const later of ['argon2', 'Schlüssel']) expect(all.includes(later)).toBe(true);
});

test('every script has its hash, in its tag or in the import map', () => {
  const map = JSON.parse(/<script type="importmap">(.*?)<\/script>/.exec(html)?.[1] ?? '{}') as {
    integrity: Record<string, string>;
  };
  const hashOf = (path: string) => `sha384-${createHash('sha384').update(read(path)).digest('base64')}`;
  const scripts = globSync('assets/*.js', { cwd: folder });
  expect(scripts.length).toBeGreaterThan(5);
  for (const path of scripts) expect(map.integrity[`/${path}`]).toBe(hashOf(path));
  const tags = [...html.matchAll(/<(?:script|link)[^>]*"\/(assets\/[^"]+\.(?:js|css))"[^>]*>/g)];
  expect(tags.length).toBeGreaterThan(1);
  for (const [tag, path = ''] of tags) expect(tag).toContain(`integrity="${hashOf(path)}"`);
  expect(html.indexOf('importmap')).toBeLessThan(html.indexOf('type="module"'));
});

test('the service worker imports nothing, so that every browser can run it', () => {
  expect(read('handover/service-worker.js').toString()).not.toMatch(/\b(import|export)\b/);
});

test('what shows PDF is loaded by a preview only, and its scripting is nowhere', () => {
  const scripts = globSync('assets/*.js', { cwd: folder });
  const [viewer = ''] = scripts.filter((path) => path.startsWith('assets/open-pdf-'));
  expect(viewer).not.toBe('');
  const others = scripts.filter((path) => path !== viewer && withImports(path).has(viewer));
  expect(others).toEqual([]);
  const text = globSync('assets/*.js', { cwd: folder }).map((path) => read(path).toString());
  expect(text.filter((script) => script.includes('initSandbox'))).toEqual([]);
  expect(globSync('assets/quickjs*', { cwd: folder })).toEqual([]);
});

test('licences of what the pages bundle are beside it', () => {
  const licences = read('licenses.txt').toString();
  for (const name of ['pdfjs-dist', 'svelte']) expect(licences).toContain(name);
  expect(globSync('assets/LICENSE_LIBERATION*', { cwd: folder })).toHaveLength(1);
});

test('text is there compressed', () => {
  for (const path of [...globSync('assets/*.{js,css}', { cwd: folder }), 'index.html']) {
    expect(existsSync(join(folder, `${path}.br`)) && existsSync(join(folder, `${path}.gz`))).toBe(true);
  }
});

test('no address of anybody else is in it', () => {
  const texts = globSync('**/*.{js,css,html,webmanifest}', { cwd: folder }).map((path) => read(path).toString());
  // A library's message names its own page, which is no host that anything is asked of.
  const ownPage = /https:\/\/[a-z.]+\/package\/hash-wasm/g;
  const addresses = texts.flatMap((text) => text.replaceAll(ownPage, '').match(/https?:\/\/[a-z0-9.-]+/gi) ?? []);
  // Names of XML vocabularies, addresses in sentences of libraries, and those that a library parses to see whether the
  // browser can: nothing is loaded from them.
  const vocabularies = ['www.w3.org', 'ns.adobe.com', 'www.xfa.org'];
  const hosts = [...vocabularies, 'svelte.dev', 'github.com', 'example.com', 'foo.bar', 'a', 'x'];
  expect(addresses.filter((address) => !hosts.includes(address.replace(/^https?:\/\//i, '')))).toEqual([]);
});
