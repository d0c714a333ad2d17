import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpError } from '@mayfly/shared/errors';
import { turnAway, writeError } from '../raw-answer.ts';
import type { Ticket } from './limits.ts';

/**
 * The answer tells whether the token was right, whichever service gives it and however: a wrong token is noted before its
 * 401 leaves, so that the next guess finds it, whichever replica it meets. One that came when there was none left to try
 * is answered as if it had not been tried. Decision 79.
 */
export function settleAttempt(
  ticket: Ticket,
  request: IncomingMessage,
  response: ServerResponse,
  refusal: (lockedMs: number) => HttpError,
) {
  let isSettled = false;
  const { writeHead, write, end } = response;
  response.writeHead = ((...head: unknown[]) => {
    Object.assign(response, { writeHead });
    isSettled = true;
    if (head[0] === 401) return hold(head);
    void ticket.refund();
    return Reflect.apply(writeHead, response, head);
  }) as ServerResponse['writeHead']; // all its forms begin with the status
  // Without an answer: a request that was not complete cannot have been tried, a complete one may have been, and what came of
  // it can be seen elsewhere.
  response.once('close', () => {
    if (!isSettled) void (request.complete ? ticket.fail() : ticket.refund());
  });

  function hold(head: unknown[]) {
    let steps = [() => Reflect.apply(writeHead, response, head)];
    Object.assign(response, {
      // A service that breaks off after its head is another answer.
      writeHead: (...other: unknown[]) => {
        steps = [() => Reflect.apply(writeHead, response, other)];
        return response;
      },
      write: (...rest: unknown[]) => steps.push(() => Reflect.apply(write, response, rest)) > 0,
      end: (...rest: unknown[]) => {
        steps.push(() => Reflect.apply(end, response, rest));
        return response;
      },
    });
    void ticket.fail().then((lockedMs) => {
      if (response.destroyed) return;
      Object.assign(response, { writeHead, write, end });
      if (lockedMs > 0) {
        writeError(response, refusal(lockedMs));
        turnAway(response);
      } else for (const step of steps) step();
    });
    return response;
  }
}
