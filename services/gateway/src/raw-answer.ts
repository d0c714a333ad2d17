import type { ServerResponse } from 'node:http';
import type { HttpError } from '@mayfly/shared/errors';

/** An answer of the gateway's own on a response that was handed over already. Headers that were set before stay. */
export function writeError(response: ServerResponse, { statusCode, headers, body }: HttpError) {
  const text = JSON.stringify(body);
  response.writeHead(statusCode, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Answers in the place of a service: what it still answers goes nowhere. */
export function answerInstead(response: ServerResponse, error: HttpError) {
  writeError(response, error);
  Object.assign(response, { writeHead: () => response, write: () => true, end: () => response });
}
