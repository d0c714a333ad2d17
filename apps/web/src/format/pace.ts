/** The last seconds count, unless more are wanted: a connection that has become slow must not look fast. */
const WINDOW_MS = 5_000;
/** Before that a guess would jump. */
const SURE_AFTER_MS = 1_500;

type Step = { atMs: number; doneBytes: number };

/** How fast something goes, and how long it will take, from the steps that it reports. */
export class Pace {
  readonly #windowMs: number;
  #steps: Step[] = [];

  constructor(windowMs = WINDOW_MS) {
    this.#windowMs = windowMs;
  }

  /** Undefined while there is not enough to tell. */
  next(doneBytes: number, totalBytes: number, atMs: number): { bytesPerSec: number; secondsLeft: number } | undefined {
    if (doneBytes < (this.#steps.at(-1)?.doneBytes ?? 0)) this.#steps = []; // it began again
    this.#steps.push({ atMs, doneBytes });
    const from = this.#steps.findLastIndex((step) => atMs - step.atMs >= this.#windowMs);
    if (from > 0) this.#steps.splice(0, from);
    const [first] = this.#steps;
    if (!first || atMs - first.atMs < SURE_AFTER_MS || doneBytes === first.doneBytes) return undefined;
    const bytesPerSec = ((doneBytes - first.doneBytes) / (atMs - first.atMs)) * 1000;
    return { bytesPerSec, secondsLeft: (totalBytes - doneBytes) / bytesPerSec };
  }
}
