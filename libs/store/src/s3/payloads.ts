import { Readable } from 'node:stream';
import { Unavailable } from '@mayfly/shared/errors';
import { type Dispatcher, request } from 'undici';
import { LengthMismatch } from '../blobs.ts';

type Putting = { sizeBytes: number; signal: AbortSignal; dispatcher: Dispatcher; stallMs: number };

/**
 * One PUT of exactly `sizeBytes` bytes to a signed address. A store that takes no byte for `stallMs` is given up
 * (Unavailable); what the sender does wrong stays the sender's error.
 */
export async function putPayload(
  url: string,
  body: AsyncIterable<Buffer>,
  { sizeBytes, signal, dispatcher, stallMs }: Putting,
): Promise<void> {
  const stalled = new AbortController();
  const sender = { error: undefined as unknown };
  const watched = async function* () {
    let timer: NodeJS.Timeout | undefined;
    let received = 0;
    try {
      for await (const chunk of body) {
        received += chunk.length;
        if (received > sizeBytes) throw new LengthMismatch();
        // Whoever asks for the next chunk has taken this one: the time in between is the store's.
        timer = setTimeout(() => stalled.abort(new Error('the store takes no more bytes')), stallMs);
        yield chunk;
        clearTimeout(timer);
      }
      if (received !== sizeBytes) throw new LengthMismatch();
    } catch (error) {
      sender.error = error;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
  try {
    const answer = await request(url, {
      method: 'PUT',
      headers: { 'content-length': String(sizeBytes), 'content-type': 'application/octet-stream' },
      body: watched() as unknown as Readable, // any async iterable is a body to undici
      signal: AbortSignal.any([signal, stalled.signal]),
      dispatcher,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`the store answered ${answer.statusCode}`);
  } catch (error) {
    signal.throwIfAborted();
    throw sender.error ?? unavailable(error);
  }
}

/**
 * Reads a signed address with back-pressure, or undefined when there is nothing (404); Unavailable when it has another size. Destroying the stream ends the
 * connection to the store and is no error; a store that breaks off is.
 */
export function getPayload(url: string, dispatcher: Dispatcher, sizeBytes?: number): Promise<Readable | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Readable | undefined>();
  const { origin, pathname, search } = new URL(url);
  let exchange: Dispatcher.DispatchController | undefined;
  const payload = new Readable({
    highWaterMark: 256 * 1024,
    read: () => exchange?.resume(),
    destroy(error, done) {
      exchange?.abort(error ?? new Error('nobody reads the payload any more'));
      done(error);
    },
  });
  let status = 0;
  dispatcher.dispatch(
    { origin, path: pathname + search, method: 'GET' },
    {
      onRequestStart(controller) {
        exchange = controller;
      },
      onResponseStart(controller, statusCode, headers) {
        if (statusCode === 200 && sizeBytes !== undefined && Number(headers['content-length']) !== sizeBytes) {
          controller.abort(new Error('a blob has another size than its upload'));
          return;
        }
        status = statusCode;
        if (status === 200) resolve(payload);
      },
      onResponseData(controller, chunk) {
        if (status === 200 && !payload.push(chunk)) controller.pause();
      },
      onResponseEnd() {
        if (status === 200) payload.push(null);
        else if (status === 404) resolve(undefined);
        else reject(unavailable(new Error(`the store answered ${status}`)));
      },
      onResponseError(_controller, error) {
        if (status !== 200) reject(unavailable(error));
        else if (!payload.destroyed) payload.destroy(error);
      },
    },
  );
  return promise;
}

export function unavailable(cause: unknown): Unavailable {
  return cause instanceof Unavailable ? cause : new Unavailable('The S3 store is not available', { cause });
}
