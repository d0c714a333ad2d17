import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const files = globSync('**/*.md', { cwd: root, exclude: ['**/node_modules', '**/dist'] });

/** A heading's address, as GitHub and others make it. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function anchorsOf(file: string): string[] {
  const text = read(file);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slug(heading));
  return [...headings, ...[...text.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id)];
}

test.each(files)('every link of %s leads somewhere', (file) => {
  const links = [...read(file).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  const dead = links.filter(([, path = '', anchor]) => {
    const target = path === '' ? file : join(dirname(file), path);
    return !existsSync(join(root, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
  });
  expect(dead.map(([link]) => link)).toEqual([]);
});
