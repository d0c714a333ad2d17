import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError } from '@mayfly/shared/errors';
import { Timestamp } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App } from '../deps.ts';
import { WORK } from '../routes.ts';
import type { Work } from './work.ts';

const Challenge = Type.Object({
  challenge: Type.String({ description: 'to be sent back in X-Work, with a dot and the number that was found' }),
  memoryKiB: Type.Integer({ description: 'memory of Argon2id' }),
  passes: Type.Integer({ description: 'passes of Argon2id' }),
  tries: Type.Integer({ description: 'numbers that have to be tried on average' }),
  requests: Type.Integer({ description: 'requests that a solution is worth' }),
  endsAt: Timestamp,
});

/** Contract: GET /api/work. It is for those whose requests are refused, so it does not count, and has a limit of its own. */
export function workEndpoint(app: App, work: Work) {
  const schema = {
    operationId: 'getWork',
    tags: ['service'],
    summary: 'What a client over its limit can work on for more requests',
    response: { 200: Challenge, ...errorAnswers({}) },
  };
  app.get(WORK.url, { schema, config: { isUncounted: true } }, async ({ address }) => {
    const offer = await work.offer(address);
    if ('waitMs' in offer) throw soldOut(offer.waitMs);
    return { ...offer, endsAt: offer.endsAt.toISOString() };
  });
}

function soldOut(waitMs: number): HttpError {
  const headers = { 'retry-after': String(Math.max(Math.ceil(waitMs / 1000), 1)) };
  return new HttpError(429, 'Too many requests', { headers });
}
