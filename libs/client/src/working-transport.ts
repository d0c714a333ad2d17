import { retryAfterSec } from './answer-body.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Transport, TransportAnswer, TransportRequest } from './transport.ts';
import type { Place, Times } from './work.ts';

export type WorkOptions = {
  /** How the challenge is asked for, unless as everything else. */
  asking?: Transport;
  /** Called with true when it begins to work or to wait, and with false when it goes on. */
  onWork?: ((isWorking: boolean) => void) | undefined;
  clock?: Clock;
};

/** A request that was refused so often is refused. */
const MOST_REFUSALS = 6;
/** Doubled with each refusal: others may be quicker to take what has become free. */
const LEAST_WAIT_MS = 1_000;
/** Nothing works or waits longer for one request here: some of those who send one give it half a minute. */
const LONGEST_MS = 25_000;

/** What was worked for, by the address of the service's API. All requests of this process may use it. */
const places = new Map<string, Place>();
/** Until when the last answer said that no request is left. */
const fullUntil = new Map<string, number>();

/**
 * The same transport, which works for a place when the service is busy with this client's requests and offers that, or waits,
 * whichever takes less time. What takes too long is refused, and every other answer is returned as it is, and so is this one to what can be sent only once.
 * Contract 18.
 */
export function whenBusy(transport: Transport, { asking = transport, onWork, clock = systemClock }: WorkOptions = {}) {
  /** Whether it is worth sending again. */
  async function getReady(api: string, times: Times, signal: AbortSignal | undefined): Promise<boolean> {
    onWork?.(true);
    try {
      const { workFor } = await import('./work.ts');
      const found = await workFor(api, { asking, ...times, clock, signal });
      if (typeof found === 'object') places.set(api, found);
      return found !== 'no work';
    } finally {
      onWork?.(false);
    }
  }

  async function send(request: TransportRequest): Promise<TransportAnswer> {
    const { signal } = request;
    const api = /^[^?#]*?\/api\//.exec(request.url)?.[0];
    if (api === undefined) return transport.send(request);
    const endMs = clock.now() + LONGEST_MS;
    const waitMs = (fullUntil.get(api) ?? 0) - clock.now();
    if (isSentOnce(request) && waitMs > 0 && !placeAt(api)) await getReady(api, { waitMs, endMs }, signal);
    for (let refusals = 1; ; refusals += 1) {
      const place = placeAt(api);
      const answer = await transport.send(place ? withPlace(request, place) : request);
      const left = requestsLeft(answer);
      if (left?.count === 0) fullUntil.set(api, clock.now() + 1000 * left.sec);
      const isBusy = answer.status === 429 && left?.count === 0 && isAbout(answer, left.sec);
      if (!isBusy) return answer;
      if (place && places.get(api) === place) places.delete(api); // it was used up
      if (isSentOnce(request) || refusals === MOST_REFUSALS) return answer;
      const waitMs = Math.max(1000 * left.sec, LEAST_WAIT_MS * 2 ** (refusals - 1));
      const isWorthIt = placeAt(api) !== undefined || (await getReady(api, { waitMs, endMs }, signal)); // another may have got one
      if (!isWorthIt) return answer;
      answer.body.cancel().catch(() => {}); // nobody reads it
    }
  }
  return { ...transport, send } satisfies Transport;
}

const withPlace = (request: TransportRequest, { header }: Place) => ({
  ...request,
  headers: { ...request.headers, 'X-Work': header },
});

function placeAt(api: string): Place | undefined {
  const place = places.get(api);
  if (place && place.endsAtMs <= Date.now()) places.delete(api);
  return places.get(api);
}

/** A body that is read as it is sent. */
const isSentOnce = ({ body }: TransportRequest) => typeof body === 'object' && 'stream' in body;

/** How many requests its client has left, and in how many seconds the next one leaves the window. */
function requestsLeft(answer: TransportAnswer): { count: number; sec: number } | undefined {
  const [, count, sec] = /^"requests";r=(\d+);t=(\d+)$/.exec(answer.header('ratelimit') ?? '') ?? [];
  return count === undefined ? undefined : { count: Number(count), sec: Math.max(Number(sec), 1) };
}

/** Whether a refusal is about the requests in the window: others, such as wrong tokens, have another time to wait for. */
const isAbout = (answer: TransportAnswer, sec: number) => retryAfterSec(answer) === sec;
