import { Readable } from 'node:stream';
import { serve } from './listen.ts';

/** What is answered: a value as JSON, a text as it is, or so many bytes of a JSON text that does not end before. */
type Answer = { status?: number; headers?: Record<string, string>; body: object | string | { bytes: number } | null };

export type HostileService = AsyncDisposable & {
  url: string;
  /** What it says to a request; a test sets it. */
  answer: (path: string, method: string) => Answer;
  /** Bytes of bodies that clients have taken, as far as a server can know. */
  sentBytes: number;
};

/** Stands where a service should, and answers as a test says. It reads all that it is sent, and keeps nothing. */
export async function openHostileService(): Promise<HostileService> {
  const server = await serve((request, response) => {
    request.on('error', () => {}).resume();
    const { status = 200, headers, body } = hostile.answer(request.url ?? '', request.method ?? '');
    response.on('error', () => {}).writeHead(status, headers);
    if (!isLong(body)) return response.end(typeof body === 'string' ? body : JSON.stringify(body));
    const pieces = Readable.from(long(body.bytes, (count) => (hostile.sentBytes += count)));
    response.on('close', () => pieces.destroy());
    pieces.pipe(response);
  });
  const hostile: HostileService = { ...server, answer: () => ({ status: 404, body: {} }), sentBytes: 0 };
  return hostile;
}

function isLong(body: Answer['body']): body is { bytes: number } {
  return typeof body === 'object' && body !== null && Object.keys(body).join() === 'bytes';
}

const PIECE = Buffer.alloc(64 * 1024, 'x');

function* long(bytes: number, onSent: (count: number) => void) {
  yield Buffer.from('{"id":"');
  for (let left = bytes; left > 0; left -= PIECE.length) {
    onSent(PIECE.length);
    yield PIECE;
  }
  yield Buffer.from('"}');
}
