import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HttpError, invalidRequest, LENGTH_MISMATCH } from './errors.ts';

/** An error as it goes over the wire where Fastify does not send it. */
function rawAnswer({ statusCode, headers, body }: HttpError) {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  return {
    statusCode,
    headers: { 'content-type': 'application/json; charset=utf-8', 'content-length': length, ...headers },
    text,
  };
}

/** Answers on a response that Fastify does not have, or has handed over. Headers that were set before stay. */
export function sendRaw(response: ServerResponse, error: HttpError) {
  const { statusCode, headers, text } = rawAnswer(error);
  response.writeHead(statusCode, headers);
  response.end(text);
}

/** What is not HTTP, or too large a header, or too slow: JSON like every other error, then the connection ends. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400;
  // The sender ended its side in the middle of a body: it may still be reading.
  const short = error.code === 'HPE_INVALID_EOF_STATE';
  const { statusCode, headers, text } = rawAnswer(short ? invalidRequest(LENGTH_MISMATCH) : new HttpError(status));
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${text}`);
}
