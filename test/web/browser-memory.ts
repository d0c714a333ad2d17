import { setTimeout as sleep } from 'node:timers/promises';
import { ownMemoryBytes } from '@mayfly/testing/proc';
import type { Browser } from 'playwright-core';

/**
 * Watches what a browser holds for itself (Linux only); shared pages and file caches are not among it. `stop` tells the most
 * above what there was at the beginning, in bytes.
 */
export async function watchMemory(browser: Browser): Promise<{ stop: () => Promise<number> }> {
  const session = await browser.newBrowserCDPSession();
  const now = async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((sum, { id }) => sum + ownMemoryBytes(id), 0);
  };
  const start = await now();
  let peak = start;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      peak = Math.max(peak, await now());
      await sleep(250);
    }
  })();
  watching.catch(() => {}); // whoever stops it is told
  return {
    async stop() {
      isOver = true;
      await watching;
      await session.detach();
      return peak - start;
    },
  };
}
