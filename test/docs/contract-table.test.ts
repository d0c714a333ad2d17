import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const rows = [...read('docs/contract.md').matchAll(/^\| (.+?) \| `(.+?\.test\.ts)` \| (.+?) \|$/gm)].map(
  ([, row = '', file = '', name = '']) => ({ row, file, name }),
);

test('docs/contract.md names the test of every row, and each of them is there', () => {
  expect(rows.length).toBeGreaterThan(60);
  // Where it is the name of something: a test, or a list of them.
  const isTest = (text: string, name: string) =>
    text
      .split(`'${name}'`)
      .slice(0, -1)
      .some((before) => /\(\s*$/.test(before));
  const missing = rows.filter(({ file, name }) => !isTest(read(file), name));
  expect(missing).toEqual([]);
});
