import { type Clock, systemClock } from './clock.ts';
import { asMayflyError, type ErrorCode, type MayflyError } from './errors.ts';

export type RetryOptions = {
  /** So long after the last success a failure is final. An hour. */
  patienceMs?: number | undefined;
  /** Called before each wait. */
  onTrouble?: ((failure: MayflyError) => void) | undefined;
  clock?: Clock | undefined;
};

/** Seconds before each further try; the last of them again and again. */
const WAITS_SEC = [1, 2, 4, 8, 15, 30];
/** The longest wait where no connection was made: asking costs nobody anything, and nothing tells that the network is back. */
const UNCONNECTED_SEC = 1;
const PATIENCE_MS = 3_600_000;
const PASSING: ErrorCode[] = ['network', 'unavailable', 'rate-limited', 'service-full'];
/** The service has waited for a slow client in vain. */
const TIMED_OUT = 408;

function mayPass({ code, status }: MayflyError): boolean {
  return PASSING.includes(code) || status === TIMED_OUT;
}

/** What a connection says that was never made, in Node; browsers do not tell. */
const UNSENT = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'];

/** Whether a request that failed so has made nothing: it was not sent, or was refused for now. */
export function isUnheard({ status, retryAfterSec, cause }: MayflyError): boolean {
  if (status === undefined) return isUnconnected(cause);
  return status === 503 || (status === 429 && retryAfterSec !== undefined);
}

const isUnconnected = (cause: unknown) => UNSENT.includes(String((cause as { code?: unknown } | undefined)?.code));

/** Tries again what may be repeated at will. Each success of one gives all of them new patience. */
export class Retries {
  readonly #patienceMs: number;
  readonly #onTrouble: (failure: MayflyError) => void;
  readonly #clock: Clock;
  #successMs: number;

  constructor({ patienceMs = PATIENCE_MS, onTrouble = () => {}, clock = systemClock }: RetryOptions = {}) {
    this.#patienceMs = patienceMs;
    this.#onTrouble = onTrouble;
    this.#clock = clock;
    this.#successMs = clock.now();
  }

  /** Throws the last failure when there is no patience left, and at once what another try cannot turn into a success. */
  async run<T>(send: (lastFailure?: MayflyError) => Promise<T>, signal?: AbortSignal, mayRepeat = mayPass): Promise<T> {
    let failure: MayflyError | undefined;
    for (let tries = 0; ; tries += 1) {
      try {
        const result = await send(failure);
        this.#successMs = this.#clock.now();
        return result;
      } catch (error) {
        failure = asMayflyError(error, signal);
        const waitMs = this.#waitMs(tries, failure);
        const isInVain = this.#clock.now() + waitMs - this.#successMs > this.#patienceMs;
        if (signal?.aborted || isInVain || !mayRepeat(failure)) throw failure;
        this.#onTrouble(failure);
        await this.#clock.sleep(waitMs, { signal, untilOnline: failure.retryAfterSec === undefined });
      }
    }
  }

  /** Between half of a wait and the whole of it, so that many do not come at once; never less than the service asked for. */
  #waitMs(tries: number, { cause, retryAfterSec = 0 }: MayflyError): number {
    const longestSec = WAITS_SEC[tries] ?? WAITS_SEC.at(-1) ?? 0;
    const waitSec = isUnconnected(cause) ? Math.min(longestSec, UNCONNECTED_SEC) : longestSec;
    return 1000 * Math.max(waitSec * (0.5 + Math.random() / 2), retryAfterSec);
  }
}
