import { asMayflyError, MayflyError } from './errors.ts';
import { parseJson, type Reader } from './fields.ts';
import type { TransportAnswer } from './transport.ts';

/** The longest answer but the following: metadata of 256 KiB, with all that stands beside it. */
export const MAX_ANSWER_BYTES = 1024 * 1024;
/** The largest note that a service can be told to take, 16 MiB, in base64; or the times of some 800,000 uses. */
export const MAX_LARGE_ANSWER_BYTES = 24 * 1024 * 1024;

type Reading = { maxBytes?: number; signal?: AbortSignal | undefined };

/** The body of a good answer. A connection that breaks in its middle is a network error. */
export async function jsonOf<T>(
  answer: TransportAnswer,
  read: Reader<T>,
  { maxBytes = MAX_ANSWER_BYTES, signal }: Reading = {},
): Promise<T> {
  const text = await textOf(answer, maxBytes).catch((error) => {
    throw asMayflyError(error, signal);
  });
  const body = parseJson(text);
  if (typeof body !== 'object' || body === null) {
    throw new MayflyError('unavailable', {
      message: 'There is no such service at this address',
      status: answer.status,
    });
  }
  return read(body);
}

/** What a refusal says; undefined when it says nothing that can be read. */
export async function readRefusal(answer: TransportAnswer): Promise<unknown> {
  try {
    return parseJson(await textOf(answer, MAX_ANSWER_BYTES));
  } catch {
    return undefined; // the connection broke, or there was too much of it: the status has to do
  }
}

async function textOf({ body }: TransportAnswer, maxBytes: number): Promise<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let [text, sizeBytes] = ['', 0];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text + decoder.decode();
    sizeBytes += value.length;
    if (sizeBytes > maxBytes) {
      reader.cancel().catch(() => {}); // there is nobody to tell
      throw new MayflyError('bad-answer');
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Nothing that a service counts lasts longer than a day. */
const LONGEST_WAIT_SEC = 86_400;

/** In how many seconds it is worth trying again, as the service says; undefined when it does not. */
export function retryAfterSec(answer: TransportAnswer): number | undefined {
  const text = answer.header('retry-after') ?? '';
  return /^0*[1-9]\d*$/.test(text) ? Math.min(Number(text), LONGEST_WAIT_SEC) : undefined;
}

const LONGEST_SENTENCE = 2000;

/** What a service says in its own words, on one line and without anything that could drive a terminal; else undefined. */
export function sentenceOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST_SENTENCE) return undefined;
  return /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(value) ? value : undefined;
}
