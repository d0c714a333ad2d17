import { toBlob } from './to-blob.ts';
import type { Transport } from './transport.ts';
import { hasXhr, uploadWithXhr } from './xhr-upload.ts';

/**
 * For browsers. Their `fetch` sends no Content-Length for a stream, which the service requires, so the encrypted
 * payload is collected in a Blob first; browsers keep large Blobs on disk.
 */
export function fetchTransport(): Transport {
  return {
    async send({ method, url, headers, body, onSent, signal }) {
      const content = typeof body === 'object' && 'stream' in body ? await toBlob(body, signal) : body;
      if (typeof content === 'object' && hasXhr())
        return uploadWithXhr({ method, url, headers, content, onSent, signal });
      const answer = await fetch(url, {
        method,
        headers,
        body: content ?? null,
        signal: signal ?? null,
        // The page's address holds the secret: nobody needs to hear of the rest of it either.
        referrerPolicy: 'no-referrer',
        credentials: 'omit',
        redirect: 'error',
        cache: 'no-store',
      });
      if (typeof body === 'object') onSent?.('stream' in body ? body.sizeBytes : body.length);
      return {
        status: answer.status,
        header: (name) => answer.headers.get(name) ?? undefined,
        body: answer.body ?? new Blob([]).stream(),
      };
    },
  };
}
