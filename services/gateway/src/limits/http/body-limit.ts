import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpError } from '@mayfly/shared/errors';
import { answerInstead } from '../../raw-answer.ts';

/** What is still sent after the answer is dropped for so long. */
const DROP_MS = 8_000;

/**
 * A body in chunks, whose length nobody knows before: past its limit it is refused, and the service never sees its end, so
 * that it stores nothing of it. Decision gateway-refuses-large-bodies.
 */
export function limitBody(
  request: IncomingMessage,
  response: ServerResponse,
  mostBytes: number,
  refusal: () => HttpError,
) {
  if (request.headers['transfer-encoding'] === undefined) return;
  const { push } = request;
  let receivedBytes = 0;
  let isCut = false;
  request.push = (chunk: Buffer | null, ...rest) => {
    receivedBytes += chunk?.length ?? 0;
    if (!isCut && (receivedBytes <= mostBytes || response.headersSent)) {
      return Reflect.apply(push, request, [chunk, ...rest]);
    }
    if (!isCut) {
      isCut = true;
      answerInstead(response, refusal());
      setTimeout(() => request.destroy(), DROP_MS).unref();
    }
    if (chunk === null) setImmediate(() => request.destroy());
    return true;
  };
}
