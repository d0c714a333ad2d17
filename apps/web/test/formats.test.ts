import { expect, test } from 'vitest';
import { formatBytes, formatLimit } from '../src/format/bytes.ts';
import { formatAbout, formatDuration, formatLater, formatMoment, formatUntil } from '../src/format/times.ts';
import { languageOf, localeOf } from '../src/languages/locale.ts';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1 kB'],
  [1540, '1.5 kB'],
  [9_960, '10 kB'],
  [999_499, '999 kB'],
  [999_500, '1 MB'],
  [20_000_000, '20 MB'],
  [2 ** 31, '2.1 GB'],
  [5e15, '5,000 TB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes, 'en')).toBe(text);
});

test.each([
  [999, '999 bytes'],
  [1_999_999, '1.9 MB'],
  [99_999_999, '99 MB'],
  [2 ** 31, '2.1 GB'],
])('a limit of %i bytes is said as %s, never as more', (bytes, text) => {
  expect(formatLimit(bytes, 'en')).toBe(text);
});

test('numbers and times follow the locale', () => {
  expect(formatBytes(1_500_000, 'de')).toMatch(/^1,5\sMB$/);
  expect(formatBytes(1_500_000, 'fr')).toMatch(/^1,5\sMo$/);
  expect(formatDuration(7 * 86_400, 'de')).toMatch(/^7\sTage$/);
  expect(formatLater(7 * 86_400, 'de')).toMatch(/^in\s7\sTagen$/);
  expect(formatMoment('2026-11-03T12:00:00Z', 'en-US')).toMatch(/^Nov 3, 2026/);
  expect(formatMoment('2026-11-03T12:00:00Z', 'en-GB')).toMatch(/^3 Nov 2026/);
});

test.each([
  ['zh-Hant', ['zh-TW', 'zh-tw', 'zh-HK', 'zh-MO', 'zh-Hant', 'zh-hant-CN', 'ZH-Hant-SG', 'zh-TW-u-ca-roc']],
  ['zh', ['zh', 'zh-CN', 'zh-SG', 'zh-MY', 'zh-Hans', 'zh-Hans-TW', 'zh-Hans-HK', 'zh-US@posix']],
  ['en', ['en', 'en-HK', 'EN-tw', 'en-US@posix']],
])('%s is the language of %j', (language, tags) => {
  for (const tag of tags) expect(languageOf(tag), tag).toBe(language);
});

test.each([
  ['zh-Hant', ['en', 'zh-CN', 'zh-HK'], 'zh-HK'],
  ['zh', ['zh-TW', 'zh-SG'], 'zh-SG'],
  ['en', ['de-CH', 'EN-gb', 'en-US'], 'EN-gb'],
  ['de', ['en-GB', 'fr'], 'de'],
  ['en', ['en-US@posix', 'en-NZ'], 'en-NZ'],
])('%s for who wants %j is written as in %s', (language, wanted, locale) => {
  expect(localeOf(language, wanted)).toBe(locale);
});

test.each([
  [300, '5 minutes'],
  [3600, '1 hour'],
  [86_400, '1 day'],
  [90, '90 seconds'],
  [5_400, '90 minutes'],
])('an option of %i seconds is %s, exactly', (seconds, text) => {
  expect(formatDuration(seconds, 'en')).toBe(text);
});

test('what is only about right is in one unit', () => {
  expect(formatAbout(0.2, 'en')).toBe('1 second');
  expect(formatAbout(3 * 60 + 12, 'en')).toBe('3 minutes');
});

test('a time that is over is now, not before', () => {
  expect(formatUntil('2026-11-21T12:00:00Z', 'en', Date.parse('2026-11-21T13:00:00Z'))).toBe('in 0 seconds');
});
