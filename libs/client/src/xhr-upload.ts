import { MAX_ANSWER_BYTES } from './answer-body.ts';
import type { Bytes } from './bytes.ts';
import { MayflyError } from './errors.ts';
import type { TransportAnswer, TransportRequest } from './transport.ts';

// `fetch` does not tell how much of a body was sent; XMLHttpRequest does.

type XhrRequest = Omit<TransportRequest, 'body' | 'onSent'> & {
  content: Blob | Bytes;
  onSent: TransportRequest['onSent'] | undefined;
};

/** As much of the browser's class as is used: this package is type-checked without the DOM. */
interface Xhr {
  status: number;
  responseType: string;
  response: Blob;
  upload: { onprogress: (event: { loaded: number }) => void };
  /** Of the answer. */
  onprogress: (event: { loaded: number }) => void;
  onload: () => void;
  onerror: () => void;
  onabort: () => void;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(body: Blob | Bytes): void;
  abort(): void;
}

const browser = globalThis as unknown as { XMLHttpRequest?: new () => Xhr }; // absent in workers of some kinds, and in Node

/** As long as the service waits for a client. */
const SILENCE_MS = 120_000;

export function hasXhr(): boolean {
  return browser.XMLHttpRequest !== undefined;
}

/** Sends a Blob or bytes and reports every step. Bytes that have not moved for two minutes are given up: they can be sent again. */
export function uploadWithXhr({ method, url, headers, content, onSent, signal }: XhrRequest): Promise<TransportAnswer> {
  return new Promise((resolve, reject) => {
    const Constructor = browser.XMLHttpRequest;
    if (!Constructor) throw new Error('this is no browser');
    const xhr = new Constructor();
    const abort = () => xhr.abort();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const expectMore = () => {
      clearTimeout(timer);
      if (!(content instanceof Blob)) timer = setTimeout(abort, SILENCE_MS);
    };
    let tooLong: MayflyError | undefined;
    const finish = (settle: () => void) => () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      settle();
    };
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.responseType = 'blob';
    xhr.upload.onprogress = ({ loaded }) => {
      expectMore();
      onSent?.(loaded);
    };
    xhr.onprogress = ({ loaded }) => {
      if (loaded <= MAX_ANSWER_BYTES) return;
      tooLong = new MayflyError('bad-answer');
      abort();
    };
    xhr.onload = finish(() =>
      resolve({
        status: xhr.status,
        header: (name) => xhr.getResponseHeader(name) ?? undefined,
        body: xhr.response.stream(),
      }),
    );
    xhr.onerror = finish(() => reject(new Error('the upload failed')));
    xhr.onabort = finish(() => reject(tooLong ?? new Error('the upload was stopped')));
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) return abort();
    expectMore();
    xhr.send(content);
  });
}
