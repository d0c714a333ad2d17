import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';

/**
 * Watches what a browser holds for itself (Linux only); shared pages and file caches are not among it. `stop` tells the most
 * above what there was at the beginning, in bytes.
 */
export async function watchMemory(browser: Browser): Promise<{ stop: () => Promise<number> }> {
  const session = await browser.newBrowserCDPSession();
  const now = async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((sum, { id }) => sum + ownBytes(id), 0);
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

function ownBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0; // it has ended since it was listed
  }
}
