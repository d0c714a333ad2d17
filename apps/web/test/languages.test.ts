import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { argumentsOf, partsOf, pathOf, readCatalogue, tagOf, textsOf } from '../build/texts/catalogue.ts';
import { faultsOf } from '../build/texts/faults.ts';
import { formatsFor } from '../src/languages/formats.ts';
import { LANGUAGES } from '../src/languages/index.ts';

const english = readCatalogue('en');
const tags = globSync(pathOf('*')).map(tagOf).sort();
const sources = globSync('**/*.{ts,svelte}', { cwd: resolve(import.meta.dirname, '../src') })
  .map((path) => readFileSync(resolve(import.meta.dirname, '../src', path), 'utf8'))
  .join('\n');

test('every language can be chosen', () => {
  expect(Object.keys(LANGUAGES).sort()).toEqual(tags);
});

test.each(tags)('%s has each text, with the values and the plural forms that it needs', (tag) => {
  expect(faultsOf(tag, readCatalogue(tag), english)).toEqual([]);
});

test('every text is used', () => {
  const isUsed = (name: string) =>
    new RegExp(String.raw`\bt\.${name.replaceAll('.', String.raw`\.`)}(?![\w-])`).test(sources);
  /** `t.uploads.states[state]`: which of them is only known when it runs. */
  const isUsedByGroup = (name: string) =>
    name.split('.').some((_, index, keys) => index > 0 && sources.includes(`t.${keys.slice(0, index).join('.')}[`));
  /** The page for when the service cannot be reached is given its own group, and no other. */
  const isTaken = (name: string) => sources.includes(`{ import: '${name.split('.')[0]}', eager: true }`);
  const names = textsOf(english).map(([name]) => name);
  expect(names.filter((name) => !isUsed(name) && !isUsedByGroup(name) && !isTaken(name))).toEqual([]);
});

test.each(Object.keys(LANGUAGES))('%s can say all of it, for any number', async (tag) => {
  const { default: texts } = (await LANGUAGES[tag]?.load()) ?? {};
  const said = texts?.(formatsFor(tag, LANGUAGES[tag]?.dir));
  for (const [name, text] of textsOf(readCatalogue(tag))) {
    // A straight apostrophe quotes in ICU MessageFormat: half of the text would be shown as it is written.
    expect(text, name).not.toMatch(/'|\.\.\./);
    const values = [...argumentsOf(partsOf(text))];
    const show: unknown = name.split('.').reduce<unknown>((group, key) => Reflect.get(Object(group), key), said);
    if (values.length === 0) expect(show, name).toBe(text);
    else {
      for (const number of [0, 1, 2, 3, 5, 11, 100]) {
        const some = values.map(([value, type]) => [value, type === 'number' ? number : '2026-11-22T12:00:00Z']);
        const shown = (show as (values: object) => string)(Object.fromEntries(some));
        expect(shown, name).toMatch(/\S/);
        expect(shown, name).not.toMatch(/undefined|NaN|[{}]/);
      }
    }
  }
});
