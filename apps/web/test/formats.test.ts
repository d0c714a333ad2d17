import { expect, test } from 'vitest';
import { formatBytes } from '../src/format/bytes.ts';
import { formatAbout, formatDuration, formatUntil } from '../src/format/times.ts';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1,023 bytes'],
  [1536, '1.5 kB'],
  [20 * 2 ** 20, '20 MB'],
  [2 * 2 ** 30, '2 GB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes, 'en')).toBe(text);
});

test('numbers and times follow the language', () => {
  expect(formatBytes(1.5 * 2 ** 20, 'de')).toMatch(/^1,5\sMB$/);
  expect(formatDuration(7 * 86_400, 'de')).toMatch(/^7\sTage$/);
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
