import { STATUS_CODES } from 'node:http';

export type ErrorBody = { error: string; details?: Record<string, string[]> };

/** An answer with an error status. `cause` is for the log only: the body holds nothing but the sentence and details. */
export class HttpError extends Error {
  readonly statusCode: number;
  readonly body: ErrorBody;
  readonly headers: Record<string, string>;

  constructor(
    statusCode: number,
    sentence: string = STATUS_CODES[statusCode] ?? 'Error',
    extra: { details?: Record<string, string[]>; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(sentence, { cause: extra.cause });
    this.statusCode = statusCode;
    this.body = extra.details ? { error: sentence, details: extra.details } : { error: sentence };
    this.headers = extra.headers ?? {};
  }
}

/** A store or a service cannot be reached or does not answer in time. Whether it has acted is not known. Contract 7. */
export class Unavailable extends Error {
  override name = 'Unavailable';
}

/**
 * A store is there and has no room for more. Where something new is to be stored that is 507, elsewhere 503. Decision
 * exact-ceilings.
 */
export class NoRoom extends Unavailable {
  override name = 'NoRoom';
}

/** The details of a body that is not as long as declared. */
export const LENGTH_MISMATCH = { 'Content-Length': ['must match the body'] };

/** Contract 7: the fields at fault, each with its reasons. */
export function invalidRequest(details: Record<string, string[]>): HttpError {
  return new HttpError(400, 'Invalid request', { details });
}

export function lengthRequired(): HttpError {
  return new HttpError(411, 'Content-Length is required');
}

/** Decision exact-ceilings. By default the janitor has swept within a minute. */
export function insufficientStorage(sentence: string, cause?: unknown): HttpError {
  return new HttpError(507, sentence, { headers: { 'retry-after': '60' }, cause });
}

/** Contract 7. */
export function serviceUnavailable(cause: unknown): HttpError {
  return new HttpError(503, 'Service unavailable', { headers: { 'retry-after': '5' }, cause });
}
