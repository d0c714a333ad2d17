import { call } from './api.ts';
import type { Context } from './context.ts';
import { asMayflyError, MayflyError } from './errors.ts';
import { newLease } from './lease.ts';
import type { Address } from './link.ts';
import type { Place } from './places.ts';
import { Retries, type RetryOptions } from './retries.ts';

/** A connection that brings nothing for so long is not there any more. */
const SILENT_MS = 60_000;
const NO_SUCH_RANGE = 416;

export type Leased = Address & {
  authToken: string;
  /** Of the encrypted payload. */
  sizeBytes: number;
  /** One that its caller keeps, who is told when it has ended. */
  lease?: string | undefined;
  /** It was granted before: a new one is never opened under its name. */
  isContinued?: boolean | undefined;
};
export type LeasedOptions = Pick<RetryOptions, 'patienceMs' | 'onTrouble'> & { signal?: AbortSignal | undefined };

export type EndOptions = {
  signal?: AbortSignal | undefined;
  /** All of it has arrived, which its owner is told. */
  isWhole?: boolean | undefined;
};

export type ReadOptions = LeasedOptions & {
  /** It was asked for before, and has not arrived. */
  isRepeated?: boolean;
};

/** An encrypted payload under a lease: whatever is read of it is one download. Contract: GET and DELETE /api/lease/<id>. */
export class LeasedPayload {
  readonly #context: Context;
  readonly #leased: Leased;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #isGranted: boolean;

  constructor(context: Context, leased: Leased) {
    this.#context = context;
    this.#leased = leased;
    this.#url = `${leased.baseUrl}/api/lease/${leased.id}`;
    this.#headers = { 'X-Auth-Token': leased.authToken, 'X-Download-Lease': leased.lease ?? newLease() };
    this.#isGranted = leased.isContinued ?? false;
  }

  /**
   * Bytes of it, through as many connections as it takes: where one breaks the next one goes on. Fails with `network` when they cannot be
   * continued any more, under a lease that is kept with `download-ended`; with `tampered` when there are fewer.
   */
  async read(place: Place, { signal, isRepeated, ...options }: ReadOptions): Promise<ReadableStream<Uint8Array>> {
    const { transport, clock } = this.#context;
    const stopped = new AbortController();
    const either = AbortSignal.any(signal ? [signal, stopped.signal] : [stopped.signal]);
    let atBytes = place.startBytes;
    /** Where the last request began that the service may have answered. */
    let askedBytes = isRepeated ? atBytes : undefined;
    let reader: ReadableStreamDefaultReader<Uint8Array>;
    let connection = new AbortController();

    /** The next bytes through a new connection: one that brings none has failed, and is waited with. */
    const reconnect = () =>
      new Retries({ ...options, clock }).run(async (refusal) => {
        connection = new AbortController();
        const headers = this.#headersFor({ ...place, startBytes: atBytes });
        if (askedBytes === atBytes && refusal?.status === undefined) headers['X-Download-Repeats'] = 'true';
        askedBytes = atBytes;
        const request = { method: 'GET', headers } as const;
        const any = AbortSignal.any([either, connection.signal]);
        const answer = await call(transport, this.#url, { ...request, signal: any });
        this.#isGranted = true;
        reader = answer.body.getReader();
        return next();
      }, either);

    async function next(): Promise<Uint8Array> {
      const silent = setTimeout(() => connection.abort(), SILENT_MS);
      try {
        const { value, done } = await reader.read();
        if (done) throw new MayflyError('network'); // well-formed, and not all of it
        atBytes += value.length;
        return value;
      } catch (error) {
        throw asMayflyError(error, either);
      } finally {
        clearTimeout(silent);
      }
    }

    const goOn = async (failure: MayflyError) => {
      if (either.aborted) throw failure;
      return reconnect().catch((error) => {
        throw this.#refusal(error, failure);
      });
    };

    let first: Uint8Array | undefined = await reconnect().catch((error) => {
      throw this.#refusal(error);
    });
    return new ReadableStream({
      async pull(controller) {
        controller.enqueue(first ?? (await next().catch(goOn)));
        first = undefined;
        if (atBytes < place.endBytes) return;
        controller.close();
        reader.read().catch(() => {}); // a connection is free for the next one when its end was read
      },
      async cancel(reason) {
        await reader.cancel(reason);
        stopped.abort();
      },
    });
  }

  /** Best effort: it ends by itself. The payload of a last download need not wait so long. */
  async end({ signal, isWhole = false }: EndOptions = {}): Promise<void> {
    const request = { method: 'DELETE', headers: this.#headers, signal } as const;
    await call(this.#context.transport, isWhole ? `${this.#url}?whole=true` : this.#url, request).catch(() => {});
  }

  #headersFor({ startBytes, endBytes }: Place): Record<string, string> {
    const isToEnd = endBytes >= this.#leased.sizeBytes;
    const isWhole = isToEnd && startBytes === 0;
    return {
      ...this.#headers,
      ...(isWhole ? {} : { Range: `bytes=${startBytes}-${isToEnd ? '' : endBytes - 1}` }),
      ...(this.#isGranted ? { 'X-Download-Continues': 'true' } : {}),
    };
  }

  /** What is to be told where the service refuses to go on, perhaps after a failure that was no refusal. */
  #refusal(error: unknown, failure?: MayflyError): unknown {
    if (!(error instanceof MayflyError)) return error;
    const { status } = error;
    if (status === NO_SUCH_RANGE) return new MayflyError('tampered', { status, cause: error });
    if (status !== 410 || !this.#isGranted) return error;
    // The end of a lease that nobody else knows tells nothing: the connection has broken.
    if (failure && this.#leased.lease === undefined) return failure;
    return new MayflyError('download-ended', { status, cause: error });
  }
}

/** The whole payload, whose lease ends with it. Fails like `read`. */
export async function openLeasedPayload(
  context: Context,
  leased: Leased,
  options: LeasedOptions,
): Promise<ReadableStream<Uint8Array>> {
  const payload = new LeasedPayload(context, leased);
  const ciphertext = await payload.read({ startBytes: 0, endBytes: leased.sizeBytes }, options);
  const flush = () => {
    void payload.end({ signal: options.signal, isWhole: true }); // nobody waits for it
  };
  return ciphertext.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ flush }));
}
