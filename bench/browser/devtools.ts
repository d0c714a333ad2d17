import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds } from '@mayfly/testing/proc';
import { freshFolder } from '@mayfly/testing/stores';

// A Chromium that is told what to do and nothing else. Under Playwright it takes some 200 MB more for the same page, presumably to
// record requests with their bodies (the Network domain of https://chromedevtools.github.io/devtools-protocol), which no one's browser does.

const LOOK_EVERY_MS = 200;

type Answer = { id?: number; result?: unknown; error?: { message: string } };

export type Page = {
  goto(url: string): Promise<void>;
  /** Runs this in every page before its own code. */
  prepare(script: string): Promise<void>;
  /** What an expression is now, or what the promise that it is brings. */
  evaluate(expression: string): Promise<unknown>;
  /** Waits until it is, as long as it takes. */
  until(expression: string): Promise<void>;
  /** Clicks the button with this name as soon as there is one. */
  click(name: string): Promise<void>;
  /** As if this file had been chosen in the input that the selector finds. */
  choose(selector: string, path: string): Promise<void>;
};

export type Chromium = AsyncDisposable & {
  page: Page;
  /** Every process of it but the zygotes. */
  pids(): Promise<number[]>;
  /** Processor seconds of all of them since the start. */
  cpuSec(): number;
};

/** A Chromium with one page, in English, that saves into this folder what it downloads. Dispose it. */
export async function startChromium(downloads: string): Promise<Chromium> {
  const profile = await freshFolder();
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--lang=en',
  ];
  const own = ['--remote-debugging-port=0', `--user-data-dir=${profile.path}`];
  const program = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const child = spawn(program, [...flags, ...own, 'about:blank'], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const portFile = join(profile.path, 'DevToolsActivePort');
  let address: string[] = [];
  for (; address.length < 2; await sleep(LOOK_EVERY_MS)) {
    if (child.exitCode !== null) throw new Error('Chromium does not start');
    if (existsSync(portFile)) address = readFileSync(portFile, 'utf8').split('\n');
  }
  const socket = new WebSocket(`ws://127.0.0.1:${address.join('')}`);
  await once(socket, 'open');
  const browser = speak(socket);
  const { targetId } = (await browser('Target.createTarget', { url: 'about:blank' })) as { targetId: string };
  const attached = await browser('Target.attachToTarget', { targetId, flatten: true });
  await browser('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
  const { sessionId } = attached as { sessionId: string };
  return {
    page: pageOf((method, params) => browser(method, params, sessionId)),
    async pids() {
      const { processInfo } = (await browser('SystemInfo.getProcessInfo')) as { processInfo: { id: number }[] };
      return processInfo.map(({ id }) => id);
    },
    cpuSec: () => cpuSeconds(child.pid === undefined ? [] : [child.pid]),
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
      await profile[Symbol.asyncDispose]();
    },
  };
}

type Command = (method: string, params?: object, sessionId?: string) => Promise<unknown>;

function speak(socket: WebSocket): Command {
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  socket.addEventListener('message', ({ data }) => {
    const answer: Answer = JSON.parse(String(data));
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
  });
  return async (method, params = {}, sessionId) => {
    last += 1;
    const id = last;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(id, resolve);
    socket.send(JSON.stringify({ id, method, params, sessionId }));
    const { result, error } = await promise;
    waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}

function pageOf(command: Command): Page {
  async function evaluate(expression: string): Promise<unknown> {
    const options = { returnByValue: true, userGesture: true, awaitPromise: true };
    const answer = await command('Runtime.evaluate', { expression, ...options });
    const { result, exceptionDetails } = answer as { result: { value?: unknown }; exceptionDetails?: object };
    if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  }
  async function until(expression: string) {
    while (!(await evaluate(expression))) await sleep(LOOK_EVERY_MS);
  }
  return {
    until,
    evaluate,
    async goto(url) {
      await command('Page.navigate', { url });
    },
    async prepare(source) {
      await command('Page.enable'); // without it nothing is run
      await command('Page.addScriptToEvaluateOnNewDocument', { source });
    },
    async click(name) {
      const button = `[...document.querySelectorAll('button')].find((one) => one.textContent.trim() === ${JSON.stringify(name)} && !one.disabled)`;
      await until(`!!${button}`);
      await evaluate(`${button}.click()`);
    },
    async choose(selector, path) {
      await until(`!!document.querySelector('${selector}')`);
      const { root } = (await command('DOM.getDocument')) as { root: { nodeId: number } };
      const found = await command('DOM.querySelector', { nodeId: root.nodeId, selector });
      const { nodeId } = found as { nodeId: number };
      await command('DOM.setFileInputFiles', { files: [path], nodeId });
    },
  };
}
