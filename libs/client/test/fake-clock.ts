import type { Clock } from '../src/clock.ts';
import { MayflyError } from '../src/errors.ts';

/** Time that passes only while somebody sleeps, at once. */
export class FakeClock implements Clock {
  nowMs = 0;
  readonly sleeps: { ms: number; untilOnline: boolean }[] = [];

  now() {
    return this.nowMs;
  }

  async sleep(
    ms: number,
    { signal, untilOnline = false }: { signal?: AbortSignal | undefined; untilOnline?: boolean },
  ) {
    this.sleeps.push({ ms, untilOnline });
    this.nowMs += ms;
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted) throw new MayflyError('aborted');
  }
}
