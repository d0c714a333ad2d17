import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

// docs/contract.md beside docs/openapi.json, which test/end-to-end/reference.test.ts compares with the service.

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

type Paths = Record<string, Record<string, { responses: Record<string, unknown>; tags: string[] }>>;
const endpoints = Object.entries((JSON.parse(read('docs/openapi.json')) as { paths: Paths }).paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, { responses, tags }]) => ({
      name: `${method.toUpperCase()} ${path.replaceAll('{', '<').replaceAll('}', '>')}`,
      tag: tags[0],
      statuses: Object.keys(responses),
    })),
);

const contract = read('docs/contract.md').replaceAll('&lt;', '<').replaceAll('&gt;', '>');
const section = (title: string) => contract.split(/^## /m).find((text) => text.includes(` ${title}\n`)) ?? '';
const anywhere = [...section('Errors').matchAll(/^\| (\d+(?:, \d+)*) \| [^|]+ \| [^|]+ \|$/gm)].flatMap(
  ([, statuses = '']) => [...statuses.split(', '), '429'],
);
const errors = [...contract.matchAll(/^\| (\d+) \| ([^|]+) \| [^|]+ \| [^|]+ \|$/gm)].map(
  ([, status = '', where = '']) => ({ status, where, names: endpointsOf(where) }),
);
const proofs = [...section('Which test proves what').matchAll(/^\| (.+?) \| `(.+?\.test\.ts)` \| (.+?) \|$/gm)].map(
  ([, row = '', file = '', name = '']) => ({ row, file, name }),
);

/** `POST /api/upload, /api/meta` and `every note endpoint with an id, except GET /api/note/<id>` as names of endpoints. */
function endpointsOf(where: string): string[] {
  const [included = '', excluded = ''] = where.split(', except ');
  const every = /^every (upload|note) endpoint with an id$/.exec(included);
  if (every) {
    return endpoints
      .filter(({ name, tag }) => name.includes('<id>') && name !== excluded && tag === `${every[1]}s`)
      .map(({ name }) => name);
  }
  let method = '';
  return included.split(', ').map((part) => {
    if (part.includes(' ')) method = part.replace(/ .*/, '');
    return part.includes(' ') ? part : `${method} ${part}`;
  });
}

test('every endpoint has its section, and every section its endpoint', () => {
  const described = [...contract.matchAll(/^(?:#+ [\d.]+ |`)([A-Z]+ \/api\/[^\s`]*)(?:$|`: 200)/gm)].map(
    ([, name]) => name,
  );
  expect(described.sort()).toEqual(endpoints.map(({ name }) => name).sort());
});

test('every error of an endpoint has its row, and every row its endpoints', () => {
  const rows = errors.flatMap(({ status, names }) => names.map((name) => `${status} ${name}`));
  const rest = errors.filter(({ where }) => where.startsWith('any other')).map(({ status }) => status);
  const answered = endpoints.flatMap(({ name, statuses }) => statuses.map((status) => `${status} ${name}`));
  const known = (answer: string) =>
    answer.startsWith('2') || anywhere.includes(answer.slice(0, 3)) || rest.includes(answer.slice(0, 3));
  expect(answered.filter((answer) => !known(answer) && !rows.includes(answer))).toEqual([]);
  const named = rows.filter((row) => !row.includes('any other'));
  expect(named.filter((row) => !answered.includes(row))).toEqual([]);
  expect(named.length).toBeGreaterThan(30);
});

const suites = globSync('test/end-to-end/*.test.ts', { cwd: root }).map(read);
/** The names of the tests in `describe('POST /api/upload', ...)`, wherever there is one. */
const testsOf = (endpoint: string) =>
  suites
    .flatMap((suite) => suite.split(/\bdescribe\w*\(/))
    .filter((block) => block.trimStart().startsWith(`'${endpoint}'`))
    .flatMap((block) => [...block.matchAll(/\(\s*'([^'\n]+)',\s*async/g)].map(([, name = '']) => name));

test('every answer of every endpoint has a test: in the describe of the endpoint, or in the table', () => {
  const successes = endpoints.flatMap(({ name, statuses }) =>
    statuses.filter((status) => status.startsWith('2')).map((status) => ({ status, name })),
  );
  const answers = [...successes, ...errors.flatMap(({ status, names }) => names.map((name) => ({ status, name })))];
  const unproven = answers.filter(
    ({ status, name }) =>
      !testsOf(name).some((title) => title.match(/\b\d{3}\b/g)?.includes(status)) &&
      !proofs.some(({ row }) => row.replace(/^[\d.]+ /, '').startsWith(`${name}, ${status}`)),
  );
  expect(unproven).toEqual([]);
});

test('every test that the table names is there', () => {
  expect(proofs.length).toBeGreaterThan(30);
  // Where it is the name of something: a test, or a list of them.
  const isTest = (text: string, name: string) =>
    text
      .split(`'${name}'`)
      .slice(0, -1)
      .some((before) => /\(\s*$/.test(before));
  expect(proofs.filter(({ file, name }) => !isTest(read(file), name))).toEqual([]);
});
