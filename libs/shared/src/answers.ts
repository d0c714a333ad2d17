import { STATUS_CODES } from 'node:http';
import Type from 'typebox';
import { HttpError, serviceUnavailable } from './errors.ts';

export const Ok = Type.Object({ ok: Type.Literal(true) });

export const ErrorBody = Type.Object({
  error: Type.String(),
  details: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
});

/** What every endpoint may answer besides its own errors. Contract 7. */
const ANYWHERE = { 429: new HttpError(429, 'Too many requests'), 503: serviceUnavailable(undefined) };

/**
 * The schemas of a route's error answers, by status. The errors themselves are the examples, so that the reference shows the
 * sentences that are sent.
 */
export function errorAnswers<const S extends number>(errors: Record<S, HttpError | HttpError[]>) {
  const schemas = Object.entries({ ...errors, ...ANYWHERE }).map(([status, error]) => {
    const all = [error].flat();
    const description = [...new Set(all.map(({ body }) => body.error))].join('; ') || STATUS_CODES[status];
    return [status, { ...ErrorBody, description, examples: all.map(({ body }) => body) }];
  });
  return Object.fromEntries(schemas) as Record<S | 429 | 503, typeof ErrorBody>; // each a copy of ErrorBody
}
