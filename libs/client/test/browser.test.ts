import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { serve } from '@mayfly/testing/listen';
import { startShape } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome'];
const browser = BROWSERS.find((name) => spawnSync(name, ['--version']).status === 0);

const { resolve } = createRequire(import.meta.url);
/** The modules of the library, as a browser asks for them. A Node built-in among their imports would fail to load. */
const MODULES: Record<string, string> = {
  '/hash-wasm.js': join(dirname(resolve('hash-wasm')), 'index.esm.js'),
  '/vocabulary.ts': fileURLToPath(import.meta.resolve('@mayfly/vocabulary')),
  '/vectors.json': join(import.meta.dirname, '../../../docs/vectors/vectors.json'),
  '/test/browser-page.js': fileURLToPath(import.meta.resolve('./browser-page.js')),
};
const IMPORTS = {
  imports: { '@mayfly/vocabulary': '/vocabulary.ts', 'hash-wasm': '/hash-wasm.js' },
};
const PAGE = `<!doctype html><script type="importmap">${JSON.stringify(IMPORTS)}</script>
<script type="module" src="/test/browser-page.js"></script>`;

type Found = { what: string; actual: string; expected: string }[];

/** Serves the page, its modules and, below the same origin, the service. */
async function servePage(serviceUrl: string, onResult: (found: Found) => void) {
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const path = incoming.url ?? '/';
    if (path.startsWith('/api/')) return forward(serviceUrl, incoming, response);
    if (path === '/result') {
      const body = Buffer.concat(await Array.fromAsync(incoming)).toString();
      onResult(JSON.parse(body));
      return response.end();
    }
    if (path === '/') return response.setHeader('content-type', 'text/html').end(PAGE);
    const source = /^\/src\/[a-z-]+\.ts$/.test(path) ? join(import.meta.dirname, '..', path) : MODULES[path];
    if (!source) return response.writeHead(404).end();
    const text = readFileSync(source, 'utf8');
    response.setHeader('content-type', path.endsWith('.json') ? 'application/json' : 'text/javascript');
    response.end(path.endsWith('.ts') ? stripTypeScriptTypes(text) : text);
  };
  return serve(answer);
}

function forward(serviceUrl: string, incoming: IncomingMessage, response: ServerResponse) {
  const { method = 'GET', headers } = incoming;
  const outgoing = request(`${serviceUrl}${incoming.url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  incoming.pipe(outgoing);
}

function startBrowser(url: string, profile: string): ChildProcess {
  const options = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
  return spawn(browser ?? '', [...options, `--user-data-dir=${profile}`, url], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: profile },
    detached: true, // a group of its own: a browser is many processes
  });
}

/** Fails when the browser ends, or takes longer than the test may. */
async function noAnswer(ended: Promise<unknown>): Promise<never> {
  await Promise.race([ended, sleep(45_000, undefined, { ref: false })]);
  throw new Error('the browser did not answer');
}

test.skipIf(!browser)('a browser agrees with every known answer and sends and receives', async () => {
  await using service = await startShape('all');
  await using profile = await freshFolder();
  const { promise, resolve: onResult } = Promise.withResolvers<Found>();
  await using page = await servePage(service.baseUrl, onResult);
  const child = startBrowser(page.url, profile.path);
  const ended = once(child, 'exit');
  try {
    const found = await Promise.race([promise, noAnswer(ended)]);
    for (const { what, actual, expected } of found) expect(`${what}: ${actual}`).toBe(`${what}: ${expected}`);
    expect(found.length).toBeGreaterThan(130);
  } finally {
    if (child.pid) process.kill(-child.pid, 'SIGKILL');
    await ended;
  }
});
