import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const find = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: ['**/node_modules', '**/dist', '**/.*', import.meta.filename] });

const subjects = find('docs/decisions/*.md').filter((file) => !file.endsWith('README.md'));
const named = subjects.flatMap((file) =>
  [...read(file).matchAll(/^## (.+)$/gm)].map(([, name = '']) => ({ file, name })),
);
const names = named.map(({ name }) => name);
const sections = [...read('docs/contract.md').matchAll(/^#+ (\d+(?:\.\d+)?) /gm)].map(([, number]) => number);

/** What documents, code, manifests and scripts say, each paragraph or comment in one line. */
const texts = find('**/{*.{md,ts,mjs,svelte,css,yaml,sh,toml},Dockerfile}').map((file) => ({
  file,
  text: read(file).replace(/\n[ \t]*(?:\*|\/\/|#)?[ \t]*(?=\S)/g, ' '),
}));
const cited = (pattern: RegExp) =>
  texts.flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].flatMap(([, list = '']) =>
      list.split(/, | and /).map((cited) => ({ file, cited: cited.replace(/^\[|\]\(.*/g, '') })),
    ),
  );

test('each decision has a name of its own, in kebab-case with at least one hyphen', () => {
  expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)+$/.test(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(60);
});

test('docs/decisions/README.md lists the decisions of each file', () => {
  const index = read('docs/decisions/README.md').replace(/\n +/g, ' ');
  const listed = [...index.matchAll(/^- \[.+?\]\((.+?)\): (.+)$/gm)].flatMap(([, file, list = '']) =>
    list.split(', ').map((name) => `${file} ${name}`),
  );
  const there = named.map(({ file, name }) => `${file.replace('docs/decisions/', '')} ${name}`);
  expect(listed.sort()).toEqual(there.sort());
});

test('every decision that documents and code cite is there', () => {
  const slug = String.raw`\[?[a-z0-9]+(?:-[a-z0-9]+)+(?:\]\([^)]*\))?`;
  const all = cited(new RegExp(String.raw`\bdecisions? (${slug}(?:(?:, | and )${slug})*)`, 'gi'));
  expect(all.filter(({ cited }) => !names.includes(cited))).toEqual([]);
  expect(all.length).toBeGreaterThan(100);
});

test('no decision is cited by a number', () => {
  expect(cited(/\bdecisions? (\d+)/gi)).toEqual([]);
});

test('every section of the contract that documents and code cite by its number is there', () => {
  const all = cited(/\bcontract (\d+(?:\.\d+)?)/gi);
  expect(all.filter(({ cited }) => !sections.includes(cited))).toEqual([]);
  expect(all.length).toBeGreaterThan(10);
});
