import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../progress.ts';

type Running = { exited: Promise<string>; stop(): Promise<void> };

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A server that has run for this long was healthy: the next pause is short again. */
const WELL_AFTER_MS = 60_000;

/**
 * Starts a server again whenever it ends by itself, such as PostgreSQL on a disk that is full. Between two starts it waits, longer
 * each time that one fails. Disposing ends it for good.
 */
export function keepRunning<Server extends Running>(
  name: string,
  first: Server,
  startAgain: (before: Server) => Promise<Server>,
): AsyncDisposable {
  const ending = new AbortController();
  let current = first;
  let pauseMs = FIRST_PAUSE_MS;

  async function untilItRunsAgain() {
    for (;;) {
      await sleep(pauseMs, undefined, { signal: ending.signal, ref: false });
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      try {
        current = await startAgain(current);
        return;
      } catch (error) {
        say(`${(error as Error).message} Next try in ${pauseMs / 1000} s.`);
      }
    }
  }

  async function watch() {
    while (!ending.signal.aborted) {
      const startedAt = performance.now();
      const how = await current.exited;
      if (ending.signal.aborted) return;
      if (performance.now() - startedAt > WELL_AFTER_MS) pauseMs = FIRST_PAUSE_MS;
      say(`${name} ${how}. Restarting it.`);
      await current.stop(); // gives back its folder
      await untilItRunsAgain();
      say(`${name} is running again.`);
    }
  }
  const watching = watch().catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });

  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await current.stop();
      await watching;
      await current.stop(); // started in the meantime
    },
  };
}
