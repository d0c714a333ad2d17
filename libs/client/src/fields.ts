import { ID_PATTERN } from '@mayfly/vocabulary';
import { MayflyError } from './errors.ts';

// What answers of a service are made of. It may be a hostile one, or none at all: each answer is read by one of these before anything else sees it.

/** Returns a value that is what it should be, and throws `bad-answer` for every other. */
export type Reader<T> = (value: unknown) => T;

/** The largest count that a service of ours keeps. */
const MOST = 2 ** 31 - 1;
const MOST_OPTIONS = 1000;
const ID = new RegExp(`^${ID_PATTERN}$`);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function when<T>(is: (value: unknown) => boolean): Reader<T> {
  return (value) => {
    if (!is(value)) throw new MayflyError('bad-answer');
    return value as T; // `is` has looked at it
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isWhole = (value: unknown, least: number, most: number) =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;

const isLimit = (value: unknown) => isWhole(value, 1, MOST);

/** Ciphertext, salts and names of their own kind: who uses them decodes them. */
export const text = when<string>(isText);
export const flag = when<boolean>((value) => typeof value === 'boolean');
export const bytes = when<number>((value) => isWhole(value, 0, Number.MAX_SAFE_INTEGER));
export const count = when<number>((value) => isWhole(value, 0, MOST));
/** A count that is never 0: a limit, a number of seconds. */
export const limit = when<number>(isLimit);
export const limits = when<number[]>(
  (value) => Array.isArray(value) && value.length <= MOST_OPTIONS && value.length > 0 && value.every(isLimit),
);
const isTime = (value: unknown) => isText(value) && TIME.test(value) && !Number.isNaN(Date.parse(value));
/** As the contract writes them: ISO 8601, UTC, with milliseconds. */
export const time = when<string>(isTime);
export const times = when<string[]>((value) => Array.isArray(value) && value.every(isTime));
export const id = when<string>((value) => isText(value) && ID.test(value));

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  return when((value) => values.some((known) => known === value));
}

export function orNull<T>(read: Reader<T>): Reader<T | null> {
  return (value) => (value === null ? null : read(value));
}

/** Of a field that may be absent. */
export function optional<T>(read: Reader<T>): Reader<T> {
  return (value) => (value === undefined ? (undefined as T) : read(value)); // `record` leaves it out
}

/** A copy with these fields and no other. `agrees` says whether they can be true together. */
export function record<T extends object>(
  fields: { [Name in keyof T]-?: Reader<T[Name]> },
  agrees: (value: T) => boolean = () => true,
): Reader<T> {
  const readers = Object.entries<Reader<unknown>>(fields);
  return (value) => {
    if (typeof value !== 'object' || value === null) throw new MayflyError('bad-answer');
    const own = (name: string) => (Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined);
    const entries = readers.map(([name, read]) => [name, read(own(name))]).filter(([, read]) => read !== undefined);
    const copy = Object.fromEntries(entries) as T; // every field of it has been read
    if (!agrees(copy)) throw new MayflyError('bad-answer');
    return copy;
  };
}

/** Undefined where it is none: a proxy answers pages, and a broken client writes what it likes. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
