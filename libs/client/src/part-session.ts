import { jsonOf, retryAfterSec } from './answer-body.ts';
import { type Call, call, callJson } from './api.ts';
import type { Bytes } from './bytes.ts';
import type { Context } from './context.ts';
import { MayflyError } from './errors.ts';
import { bytes, id, oneOf, optional, record, text, time } from './fields.ts';
import { assertSealed, type Description, readSealed } from './sealing.ts';
import type { StreamBody } from './streams.ts';
import { uploadUrl } from './upload-headers.ts';

// The service's endpoints for an upload in parts. Everything but the first request may be repeated at will.

/** POST /api/parts. Each one is another upload: to be repeated only where nothing came of it. */
export function beginSession(context: Context, headers: Record<string, string>, signal?: AbortSignal) {
  const url = `${context.baseUrl}/api/parts`;
  return callJson(context.transport, url, { method: 'POST', headers, read: readBegun, signal });
}

const readBegun = record<{ id: string; url: string; endsAt: string }>({ id, url: uploadUrl, endsAt: time });

type Look = { state: 'open' | 'completing' | 'complete'; stored?: string; bytes: number };
const readLook = record<Look>({ state: oneOf('open', 'completing', 'complete'), stored: optional(text), bytes });
const readMissing = record<{ missing?: string }>({ missing: optional(text) });

export type SessionState = {
  isComplete: boolean;
  /** Numbers of parts. */
  stored: Set<number>;
  storedBytes: number;
};

/** An upload whose parts are on their way. What it throws is `upload-ended` when the service does not know it any more. */
export class PartSession {
  readonly #context: Context;
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(context: Context, id: string, ownerToken: string) {
    this.#context = context;
    this.#url = `${context.baseUrl}/api/parts/${encodeURIComponent(id)}`;
    this.#headers = { 'X-Owner-Token': ownerToken };
  }

  /** POST /api/parts/<id>/<n>. */
  async store(number: number, body: Bytes | StreamBody, signal?: AbortSignal): Promise<void> {
    await this.#send(`/${number}`, { method: 'POST', body, signal });
  }

  /** GET /api/parts/<id>. */
  async look(maxParts: number, signal?: AbortSignal): Promise<SessionState> {
    const answer = await this.#send('', { method: 'GET', signal });
    if (!answer) return { isComplete: true, stored: new Set(), storedBytes: 0 };
    const { state, stored, bytes } = await jsonOf(answer, readLook, { signal });
    return { isComplete: state === 'complete', stored: readRanges(stored, maxParts), storedBytes: bytes };
  }

  /** POST /api/parts/<id>/complete. Returns the numbers of parts that are missing; undefined when it is done. */
  async complete(
    length: number,
    description: Description,
    maxParts: number,
    signal?: AbortSignal,
  ): Promise<Set<number> | undefined> {
    const body = JSON.stringify({ length, ...description });
    const answer = await this.#send('/complete', { method: 'POST', body, expected: 409, signal });
    if (!answer) return undefined;
    if (answer.status === 200) {
      if (description.share) assertSealed(await jsonOf(answer, readSealed, { signal }));
      return undefined;
    }
    const { missing } = await jsonOf(answer, readMissing, { signal });
    if (missing !== undefined) return readRanges(missing, maxParts);
    // It is being completed, by this request or by an earlier one.
    throw new MayflyError('unavailable', { status: answer.status, retryAfterSec: retryAfterSec(answer) });
  }

  /** DELETE /api/parts/<id>. */
  async cancel(signal?: AbortSignal): Promise<void> {
    await this.#send('', { method: 'DELETE', signal });
  }

  /** Undefined when the upload was completed and is over: somebody was quick. */
  async #send(path: string, request: Call) {
    try {
      return await call(this.#context.transport, `${this.#url}${path}`, { ...request, headers: this.#headers });
    } catch (error) {
      if (error instanceof MayflyError && error.code === 'expired') return undefined;
      if (!(error instanceof MayflyError) || error.code !== 'not-found') throw error;
      throw new MayflyError('upload-ended', { status: error.status, cause: error });
    }
  }
}

/** `1-17,19` as numbers, in rising order; those above the maximum are left out. */
function readRanges(text: string | undefined, max: number): Set<number> {
  const numbers = new Set<number>();
  let last = 0;
  for (const range of text ? text.split(',') : []) {
    const [, from, to = from] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(range) ?? [];
    if (!(Number(from) > last && Number(to) >= Number(from))) throw new MayflyError('bad-answer');
    last = Number(to);
    for (let number = Number(from); number <= Math.min(last, max); number += 1) numbers.add(number);
  }
  return numbers;
}
