import { isDeepStrictEqual } from 'node:util';

// What a case expects of an answer. Each throws a sentence that says what was expected and what came.

type Given = { status: number; json: unknown };

/** A long answer tells no more than its beginning. */
const show = (value: unknown) => {
  const text = JSON.stringify(value) ?? 'no JSON';
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
};

export function equal(what: string, got: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(got, expected)) throw new Error(`${what}: expected ${show(expected)}, got ${show(got)}`);
}

export function holds(what: string, isTrue: boolean, got?: unknown): void {
  if (!isTrue) throw new Error(`expected ${what}${got === undefined ? '' : `, got ${show(got)}`}`);
}

/** The status, and the whole body if it is given. */
export function answers(answer: Given, status: number, body?: unknown): void {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status} ${show(answer.json)}`);
  if (body !== undefined) equal('body', answer.json, body);
}

export const refuses = (answer: Given, status: number, error: string) => answers(answer, status, { error });

/** 400 with these fields in `details`, and no others. */
export function isInvalid(answer: Given, ...fields: string[]): void {
  answers(answer, 400);
  const { error, details } = (answer.json ?? {}) as { error?: unknown; details?: Record<string, unknown> };
  equal('error', error, 'Invalid request');
  equal('fields in details', Object.keys(details ?? {}).sort(), fields.sort());
  for (const reasons of Object.values(details ?? {})) {
    const areSentences =
      Array.isArray(reasons) && reasons.length > 0 && reasons.every((one) => typeof one === 'string');
    holds('a list of reasons for each field', areSentences, reasons);
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const isTime = (what: string, got: unknown) =>
  holds(`${what} as UTC with milliseconds`, typeof got === 'string' && TIME.test(got), got);
export const isId = (got: unknown) => holds('an id (UUID, version 4)', typeof got === 'string' && ID.test(got), got);
