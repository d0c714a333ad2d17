import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { cutOff } from '@mayfly/shared/cut-off';
import { drain } from '@mayfly/shared/drain';
import { HttpError, serviceUnavailable } from '@mayfly/shared/errors';
import { bodyOf, countRead } from '@mayfly/shared/read-buffers';
import { type Dispatcher, errors } from 'undici';
import type { Replica } from './addresses.ts';
import { endToEnd } from './hop-headers.ts';
import { answerInstead } from './raw-answer.ts';
import { refuse } from './refuse.ts';
import type { Route } from './routes.ts';
import { type BeforeAnswer, GIVE_BACK } from './upstream.ts';
import type { Waiting } from './watch.ts';
import { whenClosed } from './when-closed.ts';

const UNREACHABLE = [
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
];

/**
 * Until the head of an answer that carries no payload; what a service does itself is over before, or is 503 there. The same for its
 * body: one timer is then enough for both.
 */
const SMALL_MS = 15_000;
const SMALL = { headersTimeout: SMALL_MS, bodyTimeout: SMALL_MS };
const TRANSFER = {};

/** One request to one replica, and its answer back to the client, as they come. `then` says what follows. */
export function forward(
  replica: Replica,
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
  then: {
    leaves: () => void;
    beforeAnswer: BeforeAnswer | undefined;
    hasOther: () => boolean;
    askOther: (error: Error) => void;
    failed: (error: Error) => void;
  },
) {
  let exchange: Dispatcher.DispatchController | undefined;
  let bytesLeft = Number.NaN; // of an answer whose length is known
  const { method = 'GET', url = '/', headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (hasBody && headers.expect) response.writeContinue();

  const end = (reason: Error) => exchange?.abort(reason);
  const waiting: Waiting = {
    since: 0,
    place: -1,
    moveOn() {
      const canMove = route.isRepeatable === true && !hasBody && exchange !== undefined && then.hasOther();
      if (canMove) end(new MovedOn());
      return canMove;
    },
    giveUp() {
      if (route.payload !== 'request') end(new errors.HeadersTimeoutError());
    },
  };
  replica.watch.sent(waiting);
  const giveSlotBack = replica.slots.take(route);
  replica.pool.dispatch(
    {
      path: url,
      method: method as Dispatcher.HttpMethod,
      headers: endToEnd(headers),
      body: hasBody ? (bodyOf(request) as unknown as Readable) : null, // any async iterable is a body to undici
      ...(route.payload ? TRANSFER : SMALL),
    },
    {
      onRequestStart(controller) {
        exchange = controller;
        if (response.destroyed) controller.abort(clientGone());
      },
      onResponseStart(controller, statusCode, responseHeaders) {
        if (statusCode < 200) return;
        replica.watch.answered(waiting);
        if (String(responseHeaders.connection).toLowerCase() === 'close') then.leaves();
        const begin = () => {
          response.writeHead(statusCode, endToEnd(responseHeaders));
          bytesLeft = Number(responseHeaders['content-length'] ?? Number.NaN);
        };
        const held = then.beforeAnswer?.(statusCode, responseHeaders[GIVE_BACK] as string | undefined);
        if (!held) return begin();
        controller.pause();
        void held.then((other) => {
          // It may have broken off meanwhile, which is another answer.
          if (!response.destroyed && !response.headersSent) {
            if (other) answerInstead(response, other);
            else begin();
          }
          controller.resume();
        });
      },
      onResponseData(controller, chunk) {
        bytesLeft -= chunk.length;
        countRead(chunk.length);
        // A small answer leaves in one piece.
        if (bytesLeft === 0) response.end(chunk);
        else if (!response.write(chunk)) {
          controller.pause();
          response.once('drain', () => controller.resume());
        }
      },
      onResponseEnd() {
        giveSlotBack();
        if (!response.writableEnded) response.end();
        drain(request); // a service may answer before it has read the body
      },
      onResponseError(_controller, error) {
        giveSlotBack();
        if (response.destroyed) return replica.watch.ended(waiting);
        // A broken answer must not look like a short one: the client's connection breaks, too.
        if (response.headersSent) {
          cutOff(request.socket, codeOf(error) === 'UND_ERR_BODY_TIMEOUT' ? 'time limit' : 'service');
          return void response.destroy();
        }
        // Decisions nothing-sent-twice and next-replica-if-unsent: it changes nothing, or not a byte was sent. This is
        // still the first try.
        if (error instanceof MovedOn) {
          replica.watch.ended(waiting);
          then.askOther(error);
        } else if (!exchange && isUnreachable(error)) {
          replica.watch.unreached(waiting, error);
          then.askOther(error);
        } else if (request.errored) {
          // The body broke off at the client: the replica has done nothing wrong.
          replica.watch.ended(waiting);
          refuse(request, response, faultOf(error));
        } else {
          replica.watch.failed(waiting, error);
          then.failed(error);
        }
      },
    },
  );
  whenClosed(response, () => {
    if (!response.writableFinished) exchange?.abort(clientGone());
  });
}

class MovedOn extends Error {
  override message = 'the replica did not answer';
}

function clientGone() {
  return new Error('the client has gone');
}

export const codeOf = (error: Error) => (error as NodeJS.ErrnoException).code ?? '';
const isUnreachable = (error: Error) => UNREACHABLE.includes(codeOf(error));

export function faultOf(error: Error): HttpError {
  if (codeOf(error) === 'UND_ERR_HEADERS_TIMEOUT') return new HttpError(504);
  return isUnreachable(error) ? serviceUnavailable(error) : new HttpError(502);
}
