import type { TransportAnswer, TransportRequest } from './transport.ts';

// `fetch` does not tell how much of a body was sent; XMLHttpRequest does.

type XhrRequest = Omit<TransportRequest, 'body' | 'onSent'> & {
  content: Blob;
  onSent: TransportRequest['onSent'] | undefined;
};

/** As much of the browser's class as is used: this package is type-checked without the DOM. */
interface Xhr {
  status: number;
  responseType: string;
  response: Blob;
  upload: { onprogress: (event: { loaded: number }) => void };
  onload: () => void;
  onerror: () => void;
  onabort: () => void;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(body: Blob): void;
  abort(): void;
}

const browser = globalThis as unknown as { XMLHttpRequest?: new () => Xhr }; // absent in workers of some kinds, and in Node

export function hasXhr(): boolean {
  return browser.XMLHttpRequest !== undefined;
}

/** Sends a Blob and reports every step. */
export function uploadWithXhr({ method, url, headers, content, onSent, signal }: XhrRequest): Promise<TransportAnswer> {
  return new Promise((resolve, reject) => {
    const Constructor = browser.XMLHttpRequest;
    if (!Constructor) throw new Error('this is no browser');
    const xhr = new Constructor();
    const abort = () => xhr.abort();
    const finish = (settle: () => void) => () => {
      signal?.removeEventListener('abort', abort);
      settle();
    };
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.responseType = 'blob';
    xhr.upload.onprogress = ({ loaded }) => onSent?.(loaded);
    xhr.onload = finish(() =>
      resolve({
        status: xhr.status,
        header: (name) => xhr.getResponseHeader(name) ?? undefined,
        body: xhr.response.stream(),
      }),
    );
    xhr.onerror = finish(() => reject(new Error('the upload failed')));
    xhr.onabort = finish(() => reject(new Error('the upload was stopped')));
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) return abort();
    xhr.send(content);
  });
}
