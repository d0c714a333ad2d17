import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { StreamBody, Transport } from '../transport.ts';

/** A service that has everything and says nothing for so long is not there any more. */
const ANSWER_TIMEOUT_MS = 120_000;

/** Node's agent gives each request a connection of its own, and keeps it for the next one. */
const MAX_PARALLEL = 8;

/** For Node: a stream is sent as it is made, with its exact Content-Length. */
export function nodeTransport({ answerTimeoutMs = ANSWER_TIMEOUT_MS } = {}): Transport {
  return {
    maxParallel: MAX_PARALLEL,
    async send({ method, url, headers, body, onSent, signal }) {
      // An import would take 16 MB: of node:http it makes every export, which loads Node's fetch and WebSocket.
      const { request: start } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
      const stream = typeof body === 'object' && 'stream' in body ? body : undefined;
      const length = stream ? stream.sizeBytes : Buffer.byteLength((body as string | Uint8Array) ?? ''); // it is no stream
      const withLength = method === 'POST' ? { ...headers, 'content-length': String(length) } : headers;
      const request = start(url, { method, headers: withLength, ...(signal ? { signal } : {}) });
      const answer = once(request, 'response') as Promise<[IncomingMessage]>; // what the event comes with
      if (stream) {
        await sendStream(request, stream, answer, onSent);
      } else {
        request.end(body);
      }
      // Not for the content of an answer: whoever reads it may take a rest.
      request.setTimeout(answerTimeoutMs, () => request.destroy(new Error('the service does not answer')));
      const [message] = await answer;
      request.setTimeout(0);
      // An answer that comes before the end of the body is final. Whoever reads it needs no error of the other half.
      request.on('error', () => {});
      if (!request.writableEnded) message.once('close', () => request.destroy());
      return {
        status: message.statusCode ?? 0,
        header: (name) => message.headers[name.toLowerCase()]?.toString(),
        body: Readable.toWeb(message) as ReadableStream<Uint8Array>, // the same, typed for Node only
      };
    },
  };
}

/** Ends when everything is sent, or earlier when the answer or an error has come: nothing is read after that. */
async function sendStream(
  request: ClientRequest,
  { stream }: StreamBody,
  answer: Promise<unknown>,
  onSent?: (sentBytes: number) => void,
) {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  const over = answer.then(end, end);
  const reader = stream.getReader();
  try {
    let sentBytes = 0;
    for (;;) {
      const next = await Promise.race([reader.read(), over]);
      if (!next || next.done) break;
      const { value } = next;
      if (!request.write(value) && !isOver) await Promise.race([once(request, 'drain'), over]);
      sentBytes += value.length;
      onSent?.(sentBytes);
    }
    if (!isOver) request.end();
  } catch (error) {
    // The source failed: half a body must not stay open, and its reason is the one to tell.
    answer.catch(() => {});
    request.destroy();
    throw error;
  } finally {
    // Best effort: a source that failed has nothing left to cancel.
    reader.cancel().catch(() => {});
  }
}
