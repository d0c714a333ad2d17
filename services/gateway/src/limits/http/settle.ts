import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpError } from '@mayfly/shared/errors';
import type { BeforeAnswer } from '../../upstream.ts';
import { whenClosed } from '../../when-closed.ts';
import type { Ticket } from '../limits.ts';

/**
 * The answer tells whether the token was right, whichever service gives it: a wrong token is counted before its 401 leaves, so
 * that the next guess finds it, whichever replica it meets. One that came when there was none left to try is answered as if it
 * had not been tried. Decision guesses-count-at-start.
 */
export function settleAttempt(
  ticket: Ticket,
  request: IncomingMessage,
  response: ServerResponse,
  refusal: (lockedMs: number) => HttpError,
): BeforeAnswer {
  let isSettled = false;
  whenClosed(response, () => {
    if (isSettled) return;
    isSettled = true; // a service of this process may answer all the same
    // An answer of the gateway's own says nothing about the token. Without any: a request that was not complete cannot have been
    // tried, a complete one may have been, and what came of it can be seen elsewhere.
    const mayBeWrong = !response.headersSent && request.complete;
    void (mayBeWrong ? ticket.fail() : ticket.refund());
  });
  return (status) => {
    if (isSettled) return undefined;
    isSettled = true;
    if (status === 401) return ticket.fail().then((lockedMs) => (lockedMs > 0 ? refusal(lockedMs) : undefined));
    void ticket.refund();
    return undefined;
  };
}

/** Bytes that were not stored are given back. */
export function settleBytes(charge: Pick<Ticket, 'giveBack'>, request: IncomingMessage, response: ServerResponse) {
  whenClosed(response, () => {
    const { headersSent, statusCode } = response;
    // Without an answer: a body that was not complete cannot have been stored, a complete one may have been.
    const isStored = headersSent ? statusCode < 400 : request.complete;
    if (!isStored) void charge.giveBack();
  });
}
