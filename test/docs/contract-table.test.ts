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
  const missing = rows.filter(({ file, name }) => !read(file).includes(`'${name}'`));
  expect(missing).toEqual([]);
});
