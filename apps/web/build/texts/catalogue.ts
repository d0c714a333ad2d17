import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import {
  isArgumentElement,
  isDateElement,
  isLiteralElement,
  isNumberElement,
  isPluralElement,
  isPoundElement,
  type MessageFormatElement,
  parse,
} from '@formatjs/icu-messageformat-parser';

/** Texts by their names, in groups: `{ send: { title: 'Send files' } }`. What a text says is in ICU MessageFormat. */
export type Catalogue = { [name: string]: string | Catalogue };

/** A message in the parts that `compile.ts` has code for. */
export type Part =
  | { kind: 'literal'; text: string }
  | { kind: 'value'; name: string; format: Format }
  | { kind: 'count'; name: string }
  | { kind: 'plural'; name: string; isOrdinal: boolean; options: Record<string, Part[]> };

/** What is shown of a value: a method of `Formats` in `src/languages/formats.ts`. */
type Format = (typeof NUMBERS | typeof DATES)[number] | 'text' | 'number';

const NUMBERS = ['bytes', 'limit', 'percent', 'duration', 'about', 'later'] as const;
const DATES = ['moment', 'relative'] as const;

const FOLDER = resolve(import.meta.dirname, '../../src/languages');

export const pathOf = (tag: string) => join(FOLDER, `${tag}.json`);

export const tagOf = (path: string) => basename(path, '.json');

export function readCatalogue(tag: string): Catalogue {
  return JSON.parse(readFileSync(pathOf(tag), 'utf8'));
}

/** Every text of it, by its whole name: `send.title`. */
export function textsOf(catalogue: Catalogue, group = ''): [name: string, text: string][] {
  return Object.entries(catalogue).flatMap(([key, value]): [string, string][] => {
    const name = group + key;
    return typeof value === 'string' ? [[name, value]] : textsOf(value, `${name}.`);
  });
}

/** Throws what is wrong with a message that is no ICU MessageFormat, or that asks for a format which there is not. */
export function partsOf(message: string): Part[] {
  return parse(message, { ignoreTag: true, shouldParseSkeletons: false }).map((element) => toPart(element));
}

function toPart(element: MessageFormatElement, counted = ''): Part {
  if (isLiteralElement(element)) return { kind: 'literal', text: element.value };
  if (isPoundElement(element)) return { kind: 'count', name: counted };
  const { value: name } = element;
  if (isArgumentElement(element)) return { kind: 'value', name, format: 'text' };
  if (isNumberElement(element)) return { kind: 'value', name, format: among(NUMBERS, element.style ?? 'number') };
  if (isDateElement(element)) return { kind: 'value', name, format: among(DATES, element.style) };
  if (isPluralElement(element) && element.offset === 0) {
    const options = Object.entries(element.options).map(
      ([option, { value }]) => [option, value.map((inner) => toPart(inner, name))] as const,
    );
    return { kind: 'plural', name, isOrdinal: element.pluralType === 'ordinal', options: Object.fromEntries(options) };
  }
  throw new Error(`{${name}}: only values, numbers, dates and plurals without an offset can be shown`);
}

function among(formats: readonly Format[], style: unknown): Format {
  const found = ['number' as const, ...formats].find((format) => format === style);
  if (!found) throw new Error(`no format is called ${String(style)}: there are ${formats.join(', ')}`);
  return found;
}

/** The values that a message needs, and what they are: dates are ISO 8601. */
export function argumentsOf(parts: Part[]): Map<string, 'number' | 'string'> {
  const found = new Map<string, 'number' | 'string'>();
  for (const part of parts) {
    if (part.kind === 'value') found.set(part.name, isText(part.format) ? 'string' : 'number');
    if (part.kind === 'plural') {
      found.set(part.name, 'number');
      for (const [name, type] of Object.values(part.options).flatMap((inner) => [...argumentsOf(inner)]))
        found.set(name, type);
    }
  }
  return found;
}

const isText = (format: Format) => format === 'text' || DATES.some((date) => date === format);
