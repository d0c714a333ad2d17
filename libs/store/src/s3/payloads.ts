import { Readable } from 'node:stream';
import { Unavailable } from '@mayfly/shared/errors';
import { countRead } from '@mayfly/shared/read-buffers';
import { type Dispatcher, request } from 'undici';
import { type ByteRange, KeptWaiting, LengthMismatch } from '../blobs.ts';
import type { S3Patience } from './patience.ts';

type Putting = { sizeBytes: number; signal: AbortSignal; dispatcher: Dispatcher; patience: S3Patience };

/** A store's own no, as XML. */
export class StoreRefusal extends Error {
  readonly code: string | undefined;
  constructor(status: number, xml: string) {
    super(`the store answered ${status}`);
    this.code = /<Code>(\w+)<\/Code>/.exec(xml)?.[1];
  }
}

/** How fast the slowest store puts away what it was sent: it may be silent while it does. */
const PUT_AWAY_BYTES_PER_MS = 40_000;

/**
 * One PUT of exactly `sizeBytes` bytes to a signed address. A store that neither takes a byte nor answers is given up
 * (Unavailable), the sooner the less it was given; what the sender does wrong stays the sender's error. Resolves with the store's
 * tag of what it was given.
 */
export async function putPayload(
  url: string,
  body: AsyncIterable<Buffer>,
  { sizeBytes, signal, dispatcher, patience: { answerMs, stallMs } }: Putting,
): Promise<string | undefined> {
  const stalled = new AbortController();
  const sender = { error: undefined as unknown };
  let timer: NodeJS.Timeout | undefined;
  let received = 0;
  const watchStore = () => {
    const patienceMs = Math.min(answerMs + received / PUT_AWAY_BYTES_PER_MS, Math.max(answerMs, stallMs));
    timer = setTimeout(() => stalled.abort(new Error('the store takes no more bytes and does not answer')), patienceMs);
  };
  const watched = async function* () {
    try {
      for await (const chunk of body) {
        received += chunk.length;
        if (received > sizeBytes) throw new LengthMismatch();
        // Whoever asks for the next chunk has taken this one: the time in between is the store's.
        watchStore();
        yield chunk;
        clearTimeout(timer);
      }
      if (received !== sizeBytes) throw new LengthMismatch();
      watchStore(); // now it is to answer
    } catch (error) {
      sender.error = error;
      throw error;
    }
  };
  try {
    const answer = await request(url, {
      method: 'PUT',
      headers: { 'content-length': String(sizeBytes), 'content-type': 'application/octet-stream' },
      body: watched() as unknown as Readable, // any async iterable is a body to undici
      signal: AbortSignal.any([signal, stalled.signal]),
      headersTimeout: 0, // watched here
      dispatcher,
    });
    if (answer.statusCode !== 200) throw new StoreRefusal(answer.statusCode, await answer.body.text());
    await answer.body.dump();
    return String(answer.headers.etag ?? '').replaceAll('"', '') || undefined;
  } catch (error) {
    signal.throwIfAborted();
    throw sender.error ?? unavailable(error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads a signed address, or a range of it, with back-pressure, or undefined when there is nothing (404); Unavailable when it has
 * another size.
 * Destroying the stream ends the connection to the store and is no error; a store that breaks off is.
 */
export function getPayload(
  url: string,
  dispatcher: Dispatcher,
  sizeBytes?: number,
  range?: ByteRange,
): Promise<Readable | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Readable | undefined>();
  const { origin, pathname, search } = new URL(url);
  const turns = takeTurns();
  let exchange: Dispatcher.DispatchController | undefined;
  const payload = new Readable({
    highWaterMark: 0,
    read() {
      turns.asks();
      exchange?.resume();
    },
    destroy(error, done) {
      exchange?.abort(error ?? new Error('nobody reads the payload any more'));
      done(error);
    },
  });
  payload.on('error', () => {}); // it may fail while its caller awaits something else: `errored` keeps it
  // Whoever stops taking stops the store with the same piece, not one later.
  payload.on('pause', () => {
    turns.stalls();
    exchange?.pause();
  });
  const found = range ? 206 : 200;
  let status = 0;
  dispatcher.dispatch(
    {
      origin,
      path: pathname + search,
      method: 'GET',
      headers: range ? { range: `bytes=${range.first}-${range.last}` } : {},
    },
    {
      onRequestStart(controller) {
        exchange = controller;
      },
      onResponseStart(controller, statusCode, headers) {
        const foundBytes = range ? /\/(\d+)$/.exec(String(headers['content-range']))?.[1] : headers['content-length'];
        if (statusCode === found && sizeBytes !== undefined && Number(foundBytes) !== sizeBytes) {
          controller.abort(new Error('a blob has another size than its upload'));
          return;
        }
        status = statusCode;
        if (status === found) resolve(payload);
      },
      onResponseData(controller, chunk) {
        countRead(chunk.length);
        turns.given();
        if (status === found && !payload.push(chunk)) {
          turns.stalls();
          controller.pause();
        }
      },
      onResponseEnd() {
        if (status === found) payload.push(null);
        else if (status === 404) resolve(undefined);
        else reject(unavailable(new Error(`the store answered ${status}`)));
      },
      onResponseError(_controller, cause) {
        if (status !== found) reject(unavailable(cause));
        else if (payload.destroyed) return;
        else if (turns.isStoreKept()) payload.destroy(new KeptWaiting('The S3 store was kept waiting', { cause }));
        else payload.destroy(unavailable(cause));
      },
    },
  );
  return promise;
}

/** A reader that takes nothing for this long keeps the store waiting. Shorter pauses are a line that is slower than the store's. */
const KEPT_MS = 1_000;
/** Bytes that come at once were on their way; those that were waited for come from a store that is there. */
const WAITED_MS = 100;

/**
 * Who waits for whom. A connection that broke while the reader stalled is noticed only when the reader goes on and what was
 * on its way has been read. So a reader that stalled has kept the store waiting until the store was waited for again.
 */
function takeTurns() {
  let askedAt = performance.now();
  let stalledAt: number | undefined;
  let wasKept = false;
  let hasBegun = false; // until then it is the service that takes its time
  const hasWaited = () => performance.now() - askedAt >= WAITED_MS;
  const isStalled = () => hasBegun && stalledAt !== undefined && performance.now() - stalledAt >= KEPT_MS;
  return {
    asks() {
      wasKept ||= isStalled();
      hasBegun = true;
      if (stalledAt === undefined) return;
      stalledAt = undefined;
      askedAt = performance.now();
    },
    given() {
      if (hasWaited()) wasKept = false;
      askedAt = performance.now();
    },
    stalls() {
      stalledAt ??= performance.now();
    },
    isStoreKept: () => isStalled() || (wasKept && !hasWaited()),
  };
}

/** The length of the object that a signed HEAD finds, in bytes; undefined when it finds none. */
export async function storedBytes(url: string, dispatcher: Dispatcher, answerMs: number): Promise<number | undefined> {
  try {
    const { statusCode, body, headers } = await request(url, {
      method: 'HEAD',
      dispatcher,
      signal: AbortSignal.timeout(answerMs),
    });
    await body.dump();
    if (statusCode === 200) return Number(headers['content-length']);
    if (statusCode === 404) return undefined;
    throw new Error(`the store answered ${statusCode}`);
  } catch (error) {
    throw unavailable(error);
  }
}

export function unavailable(cause: unknown): Unavailable {
  return cause instanceof Unavailable ? cause : new Unavailable('The S3 store is not available', { cause });
}
