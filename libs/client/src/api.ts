import { jsonOf, readRefusal, retryAfterSec, sentenceOf } from './answer-body.ts';
import { asMayflyError, type ErrorCode, MayflyError } from './errors.ts';
import type { Reader } from './fields.ts';
import type { Transport, TransportAnswer, TransportRequest } from './transport.ts';

export type Call = Omit<TransportRequest, 'url' | 'headers'> & {
  headers?: Record<string, string>;
  /** What a 401 means here. */
  unauthorized?: ErrorCode;
  /** A refusal that is an answer here. */
  expected?: number;
};

/** One request. Returns the answer when it is a good one, throws a MayflyError when not. */
export async function call(
  transport: Transport,
  url: string,
  { unauthorized, expected, ...request }: Call,
): Promise<TransportAnswer> {
  const headers = {
    ...request.headers,
    ...(request.body === undefined
      ? {}
      : { 'content-type': typeof request.body === 'string' ? 'application/json' : 'application/octet-stream' }),
  };
  let answer: TransportAnswer;
  try {
    answer = await transport.send({ ...request, url, headers });
  } catch (error) {
    throw asMayflyError(error, request.signal);
  }
  if (answer.status < 300 || answer.status === expected) return answer;
  throw refusal(answer, await readRefusal(answer), unauthorized);
}

/** Like `call`, for an answer in JSON. */
export async function callJson<T>(
  transport: Transport,
  url: string,
  { maxBytes, ...request }: Call & { read: Reader<T>; maxBytes?: number },
): Promise<T> {
  const { read, ...rest } = request;
  const { signal } = rest;
  return jsonOf(await call(transport, url, rest), read, { signal, ...(maxBytes ? { maxBytes } : {}) });
}

/** Why an upload answered 410: the contract's sentence does not say it, this endpoint does. */
export async function goneReason(transport: Transport, uploadUrl: string, signal?: AbortSignal): Promise<ErrorCode> {
  try {
    const answer = await transport.send({ method: 'GET', url: uploadUrl, headers: {}, signal });
    const body = (await readRefusal(answer)) as { reason?: unknown } | undefined;
    return body?.reason === 'limit_reached' ? 'used-up' : 'expired';
  } catch (error) {
    throw asMayflyError(error, signal);
  }
}

const CODES: Record<number, ErrorCode> = {
  404: 'not-found',
  413: 'too-large',
  429: 'rate-limited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
  507: 'service-full',
};

/** What else a 410 says, by its sentence. */
const GONE = new Map<unknown, ErrorCode>([
  ['View limit reached', 'used-up'],
  ['Upload session has ended', 'upload-ended'],
  ['Download lease has ended', 'download-ended'],
]);

function refusal(answer: TransportAnswer, body: unknown, unauthorized: ErrorCode = 'wrong-token'): MayflyError {
  const { status } = answer;
  const { error, details } = (body ?? {}) as { error?: unknown; details?: unknown }; // both are looked at below
  const facts = { status, retryAfterSec: retryAfterSec(answer) };
  if (status === 401) return new MayflyError(unauthorized, facts);
  if (status === 410) return new MayflyError(GONE.get(error) ?? 'expired', facts);
  if (status < 400) {
    const place = sentenceOf(answer.header('location')) ?? 'it does not say where';
    return new MayflyError('unavailable', { ...facts, message: `The service is elsewhere: ${place}` });
  }
  const code = CODES[status] ?? (status >= 500 ? 'unavailable' : 'invalid-request');
  const sentence = sentenceOf(error);
  if (code !== 'invalid-request' || !sentence) return new MayflyError(code, facts);
  const reasons = Object.entries(details ?? {}).filter(([, why]) => Array.isArray(why) && why.every(isText));
  const message = [sentence, ...reasons.map(([field, why]) => `${field} ${why}`)].join('; ');
  return new MayflyError(code, { ...facts, message: sentenceOf(message) ?? sentence });
}

const isText = (value: unknown) => typeof value === 'string';
