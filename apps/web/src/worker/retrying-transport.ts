import {
  asMayflyError,
  type ErrorCode,
  fetchTransport,
  retryAfterSec,
  type Transport,
  type TransportAnswer,
  type TransportRequest,
  toBlob,
  uploadWithXhr,
} from '@mayfly/client';
import { whenBusy } from '@mayfly/client/working';
import type { Task } from './task.ts';

/** Answers that another try may turn into a better one. */
const PASSING: Record<number, ErrorCode> = {
  429: 'rate-limited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

/**
 * What makes an upload in one piece may fail on its way and is then repeated when the page says so: the encrypted payload is
 * kept for that. The client repeats parts and views by itself. Nothing else is ever tried again: a download counts.
 */
export function retryingTransport({ report, again }: Pick<Task, 'report' | 'again'>): Transport {
  const plain = fetchTransport();
  let underWay = 0;
  const onWork = (isWorking: boolean) => {
    underWay += isWorking ? 1 : -1;
    report({ kind: 'working', isWorking: underWay > 0 });
  };
  const inner = whenBusy(plain, { onWork });

  async function untilAnswered(send: () => Promise<TransportAnswer>, signal: AbortSignal | undefined) {
    for (let tries = 1; ; tries += 1) {
      const { answer, code } = await attempt(send, signal);
      // The try whose answer was lost had been heard: only the owner can have set it.
      if (tries > 1 && answer?.status === 409) return accepted();
      if (answer && !code) return answer;
      report({ kind: 'trouble', code: code ?? 'network', retryAfterSec: answer && retryAfterSec(answer) });
      await again();
      report({ kind: 'resumed' });
    }
  }

  return {
    async send(request) {
      const { body, signal } = request;
      if (typeof body === 'object' && 'stream' in body) {
        const content = await toBlob(body, signal);
        const { body: _, ...rest } = request; // what is kept can be sent again
        const upload = whenBusy(
          { send: (again) => uploadWithXhr({ ...again, onSent: again.onSent, content }) },
          { asking: plain, onWork },
        );
        return untilAnswered(() => upload.send(rest), signal);
      }
      if (isDescription(request)) return untilAnswered(() => inner.send(request), signal);
      return isQuestion(request)
        ? withinLimit((limited) => inner.send({ ...request, signal: limited }), signal)
        : inner.send(request);
    },
  };
}

async function attempt(send: () => Promise<TransportAnswer>, signal: AbortSignal | undefined) {
  try {
    const answer = await send();
    return { answer, code: PASSING[answer.status] };
  } catch (error) {
    const failure = asMayflyError(error, signal);
    if (failure.code === 'aborted') throw failure;
    return { answer: undefined, code: failure.code };
  }
}

/** The second step of an upload. Contract: POST /api/meta/<id>. */
function isDescription({ method, url }: TransportRequest): boolean {
  return method === 'POST' && /\/api\/meta\/[^/]+$/.test(url);
}

/** Which parts are stored, the completion of an upload, how far it is, and what it is: answered soon, and asked for again. */
function isQuestion({ method, url }: TransportRequest): boolean {
  return (
    /\/api\/((arrival|info)\/[^/]+|lease\/[^/]+\/info|parts\/[^/]+(\/complete)?)$/.test(url) && method !== 'DELETE'
  );
}

/** Longer than the service takes for any of these. A connection that has gone silent would be waited for until it is known to be lost. */
const LIMIT_MS = 60_000;

async function withinLimit(send: (signal: AbortSignal) => Promise<TransportAnswer>, signal: AbortSignal | undefined) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), LIMIT_MS);
  try {
    return await send(AbortSignal.any(signal ? [signal, limit.signal] : [limit.signal]));
  } finally {
    clearTimeout(timer);
  }
}

function accepted(): TransportAnswer {
  return { status: 200, header: () => undefined, body: new Blob(['{"ok":true}']).stream() };
}
