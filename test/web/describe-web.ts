import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { inSuite } from '@mayfly/testing/in-suite';
import { type RunningShape, type Shape, startShape } from '@mayfly/testing/shapes';
import type { BrowserContextOptions } from 'playwright-core';
import { describe } from 'vitest';
import { CHROMIUM, openPage, type Prepare, startBrowser, type Watched } from './browser.ts';

export type Web = {
  readonly shape: Shape;
  readonly running: RunningShape;
  readonly baseUrl: string;
  /** A program that uses the same service. */
  readonly client: MayflyClient;
  /** A page in a context of its own; see openPage. */
  open(options?: BrowserContextOptions, prepare?: Prepare): Promise<Watched>;
  /** The same, at that address. */
  visit(address: string, options?: BrowserContextOptions, prepare?: Prepare): Promise<Watched>;
  /** The same, one for all tests of this suite that do not mind what the others have left in it. */
  sharePage(options?: BrowserContextOptions, prepare?: Prepare): () => Watched;
};

/** Runs tests with a browser and a service with its pages, on one shape after the other. Skipped where there is no Chromium. */
export function describeWeb(
  name: string,
  { shapes, settings = {} }: { shapes: Shape[]; settings?: Record<string, string> },
  tests: (web: Web) => void,
) {
  describe.skipIf(!CHROMIUM).each(shapes)(`${name} (%s; needs Chromium, else skipped)`, (shape) => {
    const started = inSuite(() => {
      const { TEST_WEB_DIR } = process.env;
      if (!TEST_WEB_DIR) throw new Error('TEST_WEB_DIR is not set: npm test and vitest build the web app');
      return startShape(shape, { WEB_DIR: TEST_WEB_DIR, ...settings });
    });
    const browser = inSuite(startBrowser);
    const open: Web['open'] = (...options) => openPage(browser(), ...options);
    tests({
      shape,
      open,
      async visit(address, ...options) {
        await using stack = new AsyncDisposableStack();
        const page = stack.use(await open(...options));
        await page.goto(address);
        stack.move();
        return page;
      },
      sharePage: (...options) => inSuite(() => open(...options)),
      get running() {
        return started();
      },
      get baseUrl() {
        return started().baseUrl;
      },
      get client() {
        return new MayflyClient({ baseUrl: started().baseUrl, transport: nodeTransport() });
      },
    });
  });
}
