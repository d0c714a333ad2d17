import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import type { StreamBody } from '../streams.ts';
import type { Transport } from '../transport.ts';
import { nodeEncryption } from './encryption.ts';
import { release, releaseDisposable } from './release.ts';

/** A service that has everything and says nothing for so long is not there any more. */
const ANSWER_TIMEOUT_MS = 120_000;

/** Node's agent gives each request a connection of its own, and keeps it for the next one. */
const MAX_PARALLEL = 8;

/** For Node: a stream is sent as it is made, with its exact Content-Length. */
export function nodeTransport({ answerTimeoutMs = ANSWER_TIMEOUT_MS } = {}): Transport {
  return {
    maxParallel: MAX_PARALLEL,
    encryption: nodeEncryption,
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
        body: streamOf(message),
      };
    },
  };
}

/**
 * What `Readable.toWeb` does, but for a copy of each chunk: nobody else has them, and their memory can be given back. So is that of what the
 * socket brings, of which Node has made the chunks.
 */
function streamOf(message: IncomingMessage): ReadableStream<Uint8Array> {
  const { socket } = message;
  let isOver = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        socket.on('data', release); // after Node's own listener
        message.on('data', ({ buffer, byteOffset, length }: Buffer) => {
          if (isOver) return;
          controller.enqueue(new Uint8Array(buffer, byteOffset, length));
          if (Number(controller.desiredSize) <= 0) message.pause();
        });
        finished(message, (error) => {
          socket.off('data', release);
          if (error) controller.error(error);
          else if (!isOver) controller.close();
        });
      },
      pull: () => void message.resume(),
      cancel() {
        isOver = true;
        message.destroy();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: message.readableHighWaterMark }),
  );
}

/** Ends when everything is sent, or earlier when the answer or an error has come: nothing is read after that. */
async function sendStream(
  request: ClientRequest,
  { stream }: StreamBody,
  answer: Promise<unknown>,
  onSent?: (sentBytes: number) => void,
) {
  const reader = stream.getReader();
  let isOver = false;
  let written: (() => void) | undefined;
  const end = () => {
    isOver = true;
    written?.();
    reader.cancel().catch(() => {}); // best effort, here and below: a source that failed has nothing left to cancel
  };
  void answer.then(end, end);
  try {
    let sentBytes = 0;
    let writing = Promise.resolve();
    for (;;) {
      const { value, done } = await reader.read();
      await writing;
      onSent?.(sentBytes);
      if (done || isOver) break;
      sentBytes += value.length;
      writing = new Promise((resolve) => {
        written = resolve;
        request.write(value, () => {
          releaseDisposable(value);
          resolve();
        }); // also when it fails, which the answer tells
      });
    }
    if (!isOver) request.end();
  } catch (error) {
    // The source failed: half a body must not stay open, and its reason is the one to tell.
    answer.catch(() => {});
    request.destroy();
    throw error;
  } finally {
    reader.cancel().catch(() => {});
  }
}
