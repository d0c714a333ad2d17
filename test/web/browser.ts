import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { vi } from 'vitest';

// A browser on a busy machine is slow; waiting longer is no reason to fail.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
const PATIENCE_MS = 100_000;

/** Debian's or another Chromium of this machine. Tests that need one are skipped without it. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? '', args: FLAGS });
}

export type Watched = Page & {
  /** What must never be: violations of the content security policy, and errors that nothing has caught. Disposing throws them. */
  faults: string[];
  /** Everything that left the browser, as text: addresses, headers, and bodies that are text. */
  sent: string[];
  /** Ends the context as well. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** A page in a context of its own, whose every request and fault is recorded. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
  prepare: Prepare = async () => {},
): Promise<Watched> {
  return watch(await browser.newContext({ ...SETTINGS, ...options }), prepare);
}

/** The same in a browser of its own, which keeps what it stores in that folder: others keep it in memory. */
export async function openPersistentPage(folder: string, prepare: Prepare): Promise<Watched> {
  const options = { executablePath: CHROMIUM ?? '', args: FLAGS, ...SETTINGS };
  return watch(await chromium.launchPersistentContext(folder, options), prepare);
}

/** Before its pages are loaded. */
export type Prepare = (context: BrowserContext) => Promise<unknown>;
const SETTINGS = { acceptDownloads: true, locale: 'en-US' };

async function watch(context: BrowserContext, prepare: Prepare): Promise<Watched> {
  const [faults, sent]: [string[], string[]] = [[], []];
  context.on('request', (request) => {
    const isText = request.headers()['content-type'] !== 'application/octet-stream';
    const body = (isText && request.postDataBuffer()?.toString('latin1')) || '';
    sent.push(`${request.method()} ${request.url()}\n${JSON.stringify(request.headers())}\n${body}`);
  });
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    const text = message.text();
    // What the API refuses is reported as well; a file of the app that did not come is a fault.
    const isRefusal = /Failed to load resource/.test(text) && !message.location().url.includes('/assets/');
    // The worker for when there is no network is asked for a while after the page, which may be when there is none.
    const isTooLate = text === 'An unknown error occurred when fetching the script.';
    if (message.type() === 'error' && !isRefusal && !isTooLate) faults.push(text);
    if (/Content Security Policy|Trusted ?Type|integrity/i.test(text)) faults.push(text);
  });
  context.setDefaultTimeout(PATIENCE_MS);
  await prepare(context);
  return Object.assign(await context.newPage(), {
    faults,
    sent,
    async [Symbol.asyncDispose]() {
      await context.unrouteAll({ behavior: 'ignoreErrors' }); // what is asked for in the last moment gets no answer
      await context.close();
      if (faults.length > 0) throw new Error(`the page has had faults:\n${faults.join('\n')}`);
    },
  });
}

/** Without the dialog for a place to save to, which nobody can click here: downloads go into the browser's list. */
export const noPicker: Prepare = (context) =>
  context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker'));

/** Code for a page or its worker, in which what waits for exactly so long waits for another time. */
export const hurried = (fromMs: number, toMs: number) =>
  `{ const wait = setTimeout; globalThis.setTimeout = (run, ms, ...rest) => wait(run, ms === ${fromMs} ? ${toMs} : ms, ...rest); }`;
