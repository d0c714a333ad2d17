import type { ServiceConfig } from './answers.ts';
import { systemClock } from './clock.ts';
import { asMayflyError, MayflyError } from './errors.ts';

export type RepeatOptions = {
  /** Seconds after which no further try is begun; by default as long as the service lets a view be repeated. */
  patienceSec?: number | undefined;
  /** Called before each further try. */
  onRepeat?: (() => void) | undefined;
  /** This view has been tried before with the same key and was unconfirmed. */
  isRepeat?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** Seconds before each further try; the last of them again and again. */
const WAITS_SEC = [1, 2, 4, 8];
/** For so long it is tried to find out whether the service can repeat a view. */
const UNKNOWN_SEC = 60;
/** Without headers for so long, a request is given up: its connection leads nowhere. */
const ANSWER_MS = 30_000;
/** Answers that another try may turn into a better one. */
const PASSING = [429, 502, 503, 504];

/**
 * Sends a view until it is answered. It is the caller who gives all tries the same key; whether the service knows what to do
 * with it is asked after the first failure. Throws `unconfirmed` when nobody knows whether the view was used.
 */
export async function repeatView<T>(
  send: () => Promise<T>,
  getConfig: () => Promise<ServiceConfig>,
  { patienceSec = Number.POSITIVE_INFINITY, onRepeat, isRepeat = false, signal }: RepeatOptions,
): Promise<T> {
  const startMs = performance.now();
  let failure = isRepeat ? new MayflyError('unconfirmed') : undefined;
  let isUnsure = isRepeat;
  let repeatSec: number | undefined;
  for (let tries = 0; ; tries += 1) {
    try {
      if (failure) repeatSec ??= await askRepeatSec(getConfig);
      if (repeatSec !== 0) return await send();
    } catch (error) {
      failure = asMayflyError(error, signal);
    }
    if (!failure || (repeatSec !== 0 && !mayPass(failure))) throw failure;
    // A request that was refused for being one too many was not looked at.
    isUnsure ||= failure.code !== 'rate-limited';
    const elapsedSec = (performance.now() - startMs) / 1000;
    const waitSec = Math.max(WAITS_SEC[tries] ?? WAITS_SEC.at(-1) ?? 0, failure.retryAfterSec ?? 0);
    if (repeatSec === 0 || elapsedSec + waitSec > Math.min(repeatSec ?? UNKNOWN_SEC, patienceSec)) {
      if (!isUnsure) throw failure;
      const repeatForSec = repeatSec === undefined ? undefined : Math.max(Math.floor(repeatSec - elapsedSec), 0);
      throw new MayflyError('unconfirmed', { cause: failure, status: failure.status, repeatForSec });
    }
    onRepeat?.();
    await systemClock.sleep(waitSec * 1000, { signal });
  }
}

/** 0 when a service that answers does not say that it can. */
async function askRepeatSec(getConfig: () => Promise<ServiceConfig>): Promise<number> {
  try {
    return (await getConfig()).viewRepeatSec ?? 0;
  } catch (error) {
    if (error instanceof MayflyError && !mayPass(error) && error.code !== 'aborted') return 0;
    throw error;
  }
}

function mayPass({ code, status }: MayflyError): boolean {
  return status === undefined ? code === 'network' : PASSING.includes(status);
}

/** Gives a request only so much time to be answered; what then comes may take its own. */
export async function untilHeaders<T>(signal: AbortSignal | undefined, send: (signal: AbortSignal) => Promise<T>) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, ANSWER_MS);
  signal?.addEventListener('abort', stop, { once: true }); // stays: it ends the reading of the body, too
  if (signal?.aborted) stop();
  try {
    return await send(controller.signal);
  } catch (error) {
    const isSilent = controller.signal.aborted && !signal?.aborted;
    throw isSilent ? new MayflyError('network', { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}
