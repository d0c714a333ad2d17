import type { NoteContentType, PasswordAlgo } from '@mayfly/vocabulary';
import { asMayflyError, type ErrorCode, MayflyError } from './errors.ts';
import type { Transport, TransportAnswer, TransportRequest } from './transport.ts';

// The service's answers, under the contract's names. What they hold is the service's word: salts, nonces and ciphertexts
// are decoded and authenticated by whoever uses them.

/** Contract: GET /api/config. */
export type ServiceConfig = {
  maxFileSize: number;
  maxFilesPerUpload: number;
  expireOptionsSec: number[];
  downloadOptions: number[];
  noteMaxSize: number;
  noteExpireOptionsSec: number[];
  noteViewOptions: number[];
  /** For so long a view can be repeated under its Idempotency-Key; absent when it cannot. */
  viewRepeatSec?: number;
};

/** Contract: Upload, public representation. */
export type UploadInfo = {
  id: string;
  size: number;
  fileCount: number;
  hasPassword: boolean;
  passwordAlgo: PasswordAlgo | null;
  passwordSalt: string | null;
  salt: string;
  encryptedMeta: string | null;
  nonce: string | null;
  downloadCount: number;
  maxDownloads: number;
  expiresAt: string;
  createdAt: string;
};

/** Contract: Note, public representation. */
export type NoteInfo = {
  id: string;
  contentType: NoteContentType;
  hasPassword: boolean;
  passwordAlgo?: PasswordAlgo;
  passwordSalt?: string;
  salt: string;
  maxViews: number;
  viewCount: number;
  expiresAt: string;
  createdAt: string;
};

export type Call = Omit<TransportRequest, 'url' | 'headers'> & {
  headers?: Record<string, string>;
  /** What a 401 means here. */
  unauthorized?: ErrorCode;
};

/** One request. Returns the answer when it is a good one, throws a MayflyError when not. */
export async function call(
  transport: Transport,
  url: string,
  { unauthorized, ...request }: Call,
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
  if (answer.status < 300) return answer;
  throw refusal(answer, await readJson(answer), unauthorized);
}

/** Like `call`, for an answer in JSON. */
export async function callJson<T>(transport: Transport, url: string, request: Call): Promise<T> {
  return jsonOf(await call(transport, url, request), request.signal);
}

/** The body of a good answer. A connection that breaks in its middle is a network error. */
export async function jsonOf<T>(answer: TransportAnswer, signal?: AbortSignal): Promise<T> {
  const text = await textOf(answer).catch((error) => {
    throw asMayflyError(error, signal);
  });
  const body = parseJson(text);
  if (typeof body !== 'object' || body === null) {
    throw new MayflyError('unavailable', {
      message: 'There is no such service at this address',
      status: answer.status,
    });
  }
  return body as T; // the service's word; see above
}

/** Why an upload answered 410: the contract's sentence does not say it, this endpoint does. */
export async function goneReason(transport: Transport, uploadUrl: string, signal?: AbortSignal): Promise<ErrorCode> {
  try {
    const answer = await transport.send({ method: 'GET', url: uploadUrl, headers: {}, signal });
    const body = (await readJson(answer)) as { reason?: string } | undefined;
    return body?.reason === 'limit_reached' ? 'used-up' : 'expired';
  } catch (error) {
    throw asMayflyError(error, signal);
  }
}

async function readJson(answer: TransportAnswer): Promise<unknown> {
  try {
    return parseJson(await textOf(answer));
  } catch {
    return undefined; // the connection broke: the status has to do
  }
}

function textOf(answer: TransportAnswer): Promise<string> {
  return new Response(answer.body as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a proxy's page
  }
}

const CODES: Record<number, ErrorCode> = {
  404: 'not-found',
  410: 'expired',
  413: 'too-large',
  429: 'rate-limited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
  507: 'service-full',
};

function refusal(answer: TransportAnswer, body: unknown, unauthorized: ErrorCode = 'wrong-token'): MayflyError {
  const { status } = answer;
  const { error = '', details } = (body ?? {}) as { error?: string; details?: Record<string, string[]> };
  const seconds = Number(answer.header('retry-after'));
  const facts = { status, retryAfterSec: seconds > 0 ? seconds : undefined };
  if (status === 401) return new MayflyError(unauthorized, facts);
  if (status === 410 && error === 'View limit reached') return new MayflyError('used-up', facts);
  if (status < 400) {
    return new MayflyError('unavailable', {
      ...facts,
      message: `The service is elsewhere: ${answer.header('location')}`,
    });
  }
  const code = CODES[status] ?? (status >= 500 ? 'unavailable' : 'invalid-request');
  if (code !== 'invalid-request' || !error) return new MayflyError(code, facts);
  const reasons = Object.entries(details ?? {}).map(([field, why]) => `${field} ${why}`);
  return new MayflyError(code, { ...facts, message: [error, ...reasons].join('; ') });
}
