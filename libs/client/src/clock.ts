import { MayflyError } from './errors.ts';

/** Time, for whatever waits before it tries again. */
export interface Clock {
  /** Milliseconds of a clock that never jumps. */
  now(): number;
  /** Throws `aborted` when the signal does. With `untilOnline` it ends as soon as the browser is online again. */
  sleep(ms: number, options: { signal?: AbortSignal | undefined; untilOnline?: boolean }): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep(ms, { signal, untilOnline = false }) {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
        page.removeEventListener?.('online', wake);
        settle();
      };
      const stop = end(() => reject(new MayflyError('aborted')));
      const wake = end(resolve);
      const timer = setTimeout(wake, ms);
      signal?.addEventListener('abort', stop);
      if (untilOnline) page.addEventListener?.('online', wake);
      if (signal?.aborted) stop();
    });
  },
};

const page = globalThis as Partial<EventTarget>; // Node has no such events
