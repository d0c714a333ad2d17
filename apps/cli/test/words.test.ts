import { expect, test } from 'vitest';
import {
  chooseOption,
  formatBytes,
  formatDuration,
  formatLimit,
  formatShortTime,
  formatTimeLeft,
  parseDuration,
} from '../src/amounts.ts';
import { printable, printableName } from '../src/printable.ts';
import { progressLine, showProgress } from '../src/progress.ts';

test.each([
  ['90', 90],
  ['45s', 45],
  ['5m', 300],
  ['1h', 3_600],
  [' 1 D ', 86_400],
  ['2w', 1_209_600],
])('a time on the command line: %s is %d seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

test.each(['', 'd', '1y', '-1h', '1.5h', '1h30m', 'tomorrow'])('"%s" is no time, and says what is one', (text) => {
  expect(() => parseDuration(text)).toThrow(/is not a time: write 30m/);
});

test('amounts are written as a person would', () => {
  expect([300, 3_600, 86_400, 604_800, 90].map(formatDuration)).toEqual(['5m', '1h', '1d', '7d', '90s']);
  expect([0, 999, 1_000, 1_572_864, 999_949, 999_950, 2 ** 31, 5e15].map(formatBytes)).toEqual([
    '0 bytes',
    '999 bytes',
    '1.0 kB',
    '1.6 MB',
    '999.9 kB',
    '1.0 MB',
    '2.1 GB',
    '5000.0 TB',
  ]);
  expect([999, 1_999, 1_048_576, 2_199_999_999, 999_999].map(formatLimit)).toEqual([
    '999 bytes',
    '1.9 kB',
    '1.0 MB',
    '2.1 GB',
    '999.9 kB',
  ]);
  expect([-5, 1_000, 60_000, 7_200_000, 86_400_000].map(formatTimeLeft)).toEqual([
    '0 seconds',
    '1 second',
    '1 minute',
    '2 hours',
    '1 day',
  ]);
  expect([-1, 1_500, 150_000, 9_000_000].map(formatShortTime)).toEqual(['0 s', '2 s', '3 min', '3 h']);
});

test('a choice that the service does not offer is refused with those that it does', () => {
  const words = { name: '--expires', format: formatDuration };
  expect(chooseOption(300, [3_600, 300], 86_400, words)).toBe(300);
  expect(chooseOption(undefined, [3_600, 86_400], 86_400, words)).toBe(86_400);
  expect(chooseOption(undefined, [3_600, 300], 86_400, words)).toBe(300);
  expect(() => chooseOption(60, [3_600, 300], 86_400, words)).toThrow(
    '--expires 1m is not offered by this service; choose 5m, 1h',
  );
});

test('what somebody else wrote cannot drive the terminal, and writing of any language stays', () => {
  expect(printable('red \u001b[31m\r\u0007 \u009b2J')).toBe('red \\u{1b}[31m\\u{d}\\u{7} \\u{9b}2J');
  expect(printable('a\tb\n')).toBe('a\tb\n');
  expect(printableName('a\tb\n')).toBe('a\\tb\\n');
  expect(printable('exe\u202ecod.txt')).toBe('exe\\u{202e}cod.txt');
  for (const text of ['Grüße', 'سلام\u200f', 'שלום', '日本', '👩‍👩‍👧']) expect(printable(text)).toBe(text);
});

test('progress: share, amounts, speed and time left, in 80 columns', () => {
  const MB = 1_000_000;
  const line = progressLine('Receiving', 500 * MB, 1_000 * MB, 100 * MB);
  expect(line).toBe('Receiving  [######------]  50 %  500.0 MB of 1.0 GB  100.0 MB/s  5 s left');
  expect(line.length).toBeLessThan(80);
  expect(progressLine('Encrypting', MB, Number.POSITIVE_INFINITY, MB)).toBe('Encrypting  1.0 MB  1.0 MB/s');
  expect(progressLine('Sending', 0, 0)).toContain('100 %');
});

test('progress is drawn on a terminal, now and then, and wiped at the end; a pipe sees nothing', () => {
  const written: string[] = [];
  const output = (isTTY: boolean) =>
    ({ isTTY, columns: 40, write: (text: string) => written.push(text) }) as unknown as NodeJS.WriteStream;
  let now = 0;
  {
    using pipe = showProgress(output(false), 'Sending', () => now);
    pipe.onProgress(1, 2);
  }
  expect(written).toEqual([]);
  {
    using terminal = showProgress(output(true), 'Sending', () => now);
    for (; now < 1_000; now += 10) terminal.onProgress(now, 1_000);
    terminal.onProgress(1_000, 1_000);
  }
  expect(written).toHaveLength(12);
  for (const text of written) expect(text.replace('\r\u001b[2K', '').length).toBeLessThan(40);
  expect(written.at(-1)).toBe('\r\u001b[2K');
});
