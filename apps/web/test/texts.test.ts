import { expect, test } from 'vitest';
import { compileCatalogue, declareCatalogue } from '../build/texts/compile.ts';
import { faultsOf } from '../build/texts/faults.ts';
import { formatsFor } from '../src/languages/formats.ts';

/** The texts as the built app has them. */
async function compiled(catalogue: Parameters<typeof compileCatalogue>[0], locale: string) {
  const { default: texts } = await import(`data:text/javascript,${encodeURIComponent(compileCatalogue(catalogue))}`);
  return texts(formatsFor(locale));
}

const ENGLISH = {
  send: {
    title: 'Send “files” or a note: the key is after the #',
    chosen: '{count, plural, =1 {One file} one {# file} other {# files}}, {share, number, percent} of {name}',
  },
};

test('a text without values is a string, and one with values a function of them', async () => {
  const texts = await compiled(ENGLISH, 'en');
  expect(texts.send.title).toBe('Send “files” or a note: the key is after the #');
  expect(texts.send.chosen({ count: 1, share: 0.5, name: '{x}' })).toBe('One file, 50% of {x}');
  expect(texts.send.chosen({ count: 1200, share: 1, name: "it's" })).toBe("1,200 files, 100% of it's");
  expect(declareCatalogue(ENGLISH)).toContain('(values: { count: number; share: number; name: string }) => string');
});

test('plurals have the forms of their language', async () => {
  const polish = { files: '{count, plural, one {# plik} few {# pliki} many {# plików} other {# pliku}}' };
  const texts = await compiled(polish, 'pl');
  expect([1, 2, 5, 22, 1.5].map((count) => texts.files({ count }))).toEqual([
    '1 plik',
    '2 pliki',
    '5 plików',
    '22 pliki',
    '1,5 pliku',
  ]);
});

test('what is missing, unknown, empty or does not fit its language is found', () => {
  const wrong = {
    send: {
      title: ' ',
      chosen: '{count, plural, one {# plik} many {# plików} two {# pliki} other {# pliku}}, {share} z {who}',
      more: 'x',
      less: '{count',
    },
  };
  expect(faultsOf('pl', wrong, { send: { ...ENGLISH.send, gone: 'x', less: 'x' } })).toEqual([
    'pl.json: send.gone is missing',
    'pl.json: send.title is empty',
    'pl.json: send.chosen needs other values than in English: count (number), share (string), who (string)',
    'pl.json: send.chosen lacks the plural form few',
    'pl.json: send.chosen has two, no plural form of the language',
    'pl.json: send.more is not in en.json',
    'pl.json: send.less cannot be read: EXPECT_ARGUMENT_CLOSING_BRACE',
  ]);
  expect(faultsOf('en', ENGLISH, ENGLISH)).toEqual([]);
  expect(faultsOf('en', { a: '{size, number, furlongs}' }, { a: '{size, number}' })).toEqual([
    'en.json: a cannot be read: no format is called furlongs: there are bytes, limit, percent, duration, about, later',
  ]);
});
