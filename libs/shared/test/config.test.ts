import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import { expect, test } from 'vitest';
import { bytes, ConfigError, httpUrl, loadConfig, optional, options, port, positive, text } from '../src/config.ts';

test.each([
  ['20971520', 20_971_520],
  ['20MB', 20 * 1024 ** 2],
  ['20MiB', 20 * 1024 ** 2],
  ['20mb', 20 * 1024 ** 2],
  ['20 MB', 20 * 1024 ** 2],
  ['2GiB', 2 * 1024 ** 3],
  ['1TB', 1024 ** 4],
  ['512', 512],
])('a size: %s', (value, expected) => {
  expect(loadConfig({ SIZE: bytes('1', '') }, { SIZE: value }).SIZE).toBe(expected);
});

test.each(['', '-1', '1.5GB', 'GB', '5 apples', '9999999999999TB'])('no size: "%s"', (value) => {
  const load = () => loadConfig({ SIZE: bytes(undefined, 'a size') }, { SIZE: value });
  expect(load).toThrow(ConfigError);
});

test('options are whole numbers of at least 1, in rising order, each once', () => {
  const load = (value: string) => loadConfig({ LIST: options('1', '') }, { LIST: value }).LIST;
  expect(load('5, 1,3,5')).toEqual([1, 3, 5]);
  for (const bad of ['0', '2147483648', '1,2147483648', '1,,2', '1,x', '-1', '1.5', ','])
    expect(() => load(bad)).toThrow(ConfigError);
});

test('a whole number is at most what every column and timer can hold', () => {
  const load = (value: string) => loadConfig({ COUNT: positive('1', '') }, { COUNT: value }).COUNT;
  expect(load('2147483647')).toBe(2_147_483_647);
  expect(() => load('2147483648')).toThrow('COUNT must be a whole number from 1 to 2147483647');
});

test('one message names every bad or missing setting and prints no value', () => {
  const settings = {
    PORT: port('3000', ''),
    SIZE: bytes('1', ''),
    TOKEN: text(undefined, 'the token'),
    SITE: optional(httpUrl(undefined, '')),
    GOOD: positive('1', ''),
  };
  const load = () => loadConfig(settings, { PORT: '70000', SIZE: 'hunter2', SITE: 'ftp://hunter2', GOOD: '5' });
  expect(load).toThrow(/PORT .*SIZE .*TOKEN is missing \(the token\).*SITE /);
  expect(load).not.toThrow(/hunter2|70000|GOOD/);
});

test('an empty variable counts as unset', () => {
  expect(loadConfig({ PORT: port('3000', '') }, { PORT: '' }).PORT).toBe(3000);
});

test('NAME_FILE names a file that holds the value', async () => {
  await using folder = await freshFolder();
  const path = join(folder.path, 'secret');
  await writeFile(path, 'https://example.org\n');
  expect(loadConfig({ SITE: httpUrl(undefined, '') }, { SITE_FILE: path }).SITE).toBe('https://example.org');
  const load = () => loadConfig({ SITE: httpUrl(undefined, '') }, { SITE_FILE: `${path}-not-there` });
  expect(load).toThrow('SITE the file named by SITE_FILE cannot be read');
});
