import { type Clock, systemClock } from './clock.ts';
import { MayflyError } from './errors.ts';

type Options<P> = {
  /** Stores one part, again and again until it is stored. */
  store: (part: P, signal: AbortSignal) => Promise<unknown>;
  sizeOf: (part: P) => number;
  /** Parts under way at most. */
  maxParallel: number;
  onStored: (part: P) => void;
  signal?: AbortSignal | undefined;
  clock?: Clock | undefined;
};

/**
 * Stores parts side by side and takes the next one when there is room for it. The first failure ends all that is under way and
 * is thrown, as is `aborted`; `parts` is then left as it is.
 */
export async function storeParts<P>(
  parts: AsyncIterator<P, unknown>,
  { store, sizeOf, maxParallel, onStored, signal, clock = systemClock }: Options<P>,
): Promise<void> {
  const parallelism = new Parallelism(maxParallel, clock);
  const stop = new AbortController();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {}); // told by the race that it is in, or by none when all went well
  const onAbort = () => reject(new MayflyError('aborted'));
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  const running = new Set<Promise<void>>();
  try {
    for (;;) {
      const next = await Promise.race([parts.next(), failed]);
      if (next.done) break;
      const part = next.value;
      const storing = store(part, stop.signal).then(() => {
        running.delete(storing);
        parallelism.stored(sizeOf(part));
        onStored(part);
      });
      storing.catch(reject);
      running.add(storing);
      while (running.size >= parallelism.limit) await Promise.race([...running, failed]);
    }
    await Promise.race([Promise.all(running), failed]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    stop.abort();
  }
}

const FIRST_LIMIT = 2;
/** What another part under way has to bring, or it is taken back. */
const WORTH_IT = 1.1;

/** How many parts are under way: two, and one more for as long as each one makes it faster. */
export class Parallelism {
  limit: number;
  readonly #max: number;
  readonly #clock: Clock;
  #isGrowing = true;
  #bytes = 0;
  #parts = 0;
  #sinceMs: number;
  #bestRate = 0;

  constructor(max: number, clock: Clock) {
    this.limit = Math.min(FIRST_LIMIT, max);
    this.#max = max;
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  /** Judges after two rounds of parts under the same limit. */
  stored(bytes: number) {
    this.#bytes += bytes;
    this.#parts += 1;
    if (!this.#isGrowing || this.#parts < 2 * this.limit) return;
    const nowMs = this.#clock.now();
    const rate = this.#bytes / Math.max(1, nowMs - this.#sinceMs);
    if (rate < this.#bestRate * WORTH_IT) {
      this.#isGrowing = false;
      this.limit -= 1;
      return;
    }
    this.#bestRate = rate;
    this.#isGrowing = this.limit < this.#max;
    if (this.#isGrowing) this.limit += 1;
    this.#bytes = 0;
    this.#parts = 0;
    this.#sinceMs = nowMs;
  }
}
