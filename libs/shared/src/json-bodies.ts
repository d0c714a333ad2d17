import type { ServerResponse } from 'node:http';
import Fastify, { type FastifyRequest } from 'fastify';
import { serviceUnavailable, Unavailable } from './errors.ts';
import type { App } from './fastify-app.ts';

/** So much of each body is free: small requests are taken when large ones have used up what there is. */
const FREE_BYTES = 16 * 1024;
/** A piece takes more than its bytes: one byte a piece must not be the cheapest way to fill the memory. */
const PIECE_BYTES = 256;
const DEFAULT_BYTES = 64 * 1024 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** With whose end a body that may be large is over. */
    answer: ServerResponse | undefined;
  }
}

/** What the JSON bodies in a process take. */
export type BodyBudget = { readonly mostBytes: number; heldBytes: number };

/** A process opens one, for all its applications. Decision memory-per-client. */
export function openBodyBudget(mostBytes: number = DEFAULT_BYTES): BodyBudget {
  return { mostBytes, heldBytes: 0 };
}

const { FST_ERR_CTP_BODY_TOO_LARGE, FST_ERR_CTP_INVALID_CONTENT_LENGTH } = Fastify.errorCodes;

/**
 * JSON only; an empty body counts as none, whatever type it claims. Bodies are collected as Fastify does it, and what has arrived
 * is counted until its request is answered: beyond the budget 503, before more is read. A body that is alone is always taken.
 */
export function collectJsonBodies(
  app: Pick<
    App,
    'removeAllContentTypeParsers' | 'addContentTypeParser' | 'getDefaultJsonParser' | 'addHook' | 'decorateRequest'
  >,
  budget: BodyBudget,
) {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.decorateRequest('answer', undefined);
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (mayBeLarge(request)) request.answer = reply.raw;
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const { bodyLimit } = request.routeOptions;
    const declared = Number(request.headers['content-length'] ?? Number.NaN);
    const share = shareOf(budget, request);
    const pieces: Buffer[] = [];
    let received = 0;

    const over = (error: Error | null, body?: unknown) => {
      payload.off('data', take).off('end', parse).off('error', fail);
      done(error, body);
    };
    const take = (piece: Buffer) => {
      received += piece.length;
      if (received > bodyLimit) over(new FST_ERR_CTP_BODY_TOO_LARGE());
      else if (!share.take(piece.length + PIECE_BYTES))
        over(serviceUnavailable(new Unavailable('bodies take all the memory that they may')));
      else pieces.push(piece);
    };
    const parse = () => {
      if (!Number.isNaN(declared) && received !== declared) return over(new FST_ERR_CTP_INVALID_CONTENT_LENGTH());
      if (received === 0) return over(null, undefined);
      const [first = Buffer.alloc(0)] = pieces;
      const text = (pieces.length === 1 ? first : Buffer.concat(pieces, received)).toString('utf8');
      pieces.length = 0;
      void parseJson(request, text, over); // it calls back, and returns nothing to wait for
    };
    const fail = (error: Error & { statusCode?: number }) => {
      error.statusCode ??= 400;
      over(error);
    };
    payload.on('data', take).on('end', parse).on('error', fail);
    payload.resume();
  });
}

function mayBeLarge({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > FREE_BYTES / 2;
}

/** What one body takes of the budget, given back when its request has been answered or its connection is gone. */
function shareOf(budget: BodyBudget, { raw, answer }: FastifyRequest) {
  let [taken, counted] = [0, 0];
  const giveBack = () => {
    budget.heldBytes -= counted;
    counted = 0;
    answer?.off('close', giveBack);
    raw.socket.off('close', giveBack);
  };
  return {
    take(bytes: number): boolean {
      taken += bytes;
      if (taken <= FREE_BYTES || !answer) return true;
      const more = taken - FREE_BYTES - counted;
      const others = budget.heldBytes - counted;
      if (others > 0 && budget.heldBytes + more > budget.mostBytes) return false;
      if (counted === 0) {
        answer.once('close', giveBack);
        raw.socket.once('close', giveBack); // a pipelined answer is not closed when its connection ends before its turn
      }
      counted += more;
      budget.heldBytes += more;
      return true;
    },
  };
}
