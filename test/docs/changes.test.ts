import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parseChange, released } from '../../scripts/changelog.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('every file of changes has a kind and a sentence, and a name in kebab-case', () => {
  const files = globSync('changes/*', { cwd: root }).filter((file) => file !== 'changes/README.md');
  for (const file of files) {
    expect(file).toMatch(/^changes\/[a-z0-9]+(-[a-z0-9]+)*\.md$/);
    expect(() => parseChange(read(file)), file).not.toThrow();
  }
});

test.each([
  ['another kind', 'improved\n\nIt is better.\n'],
  ['no empty line', 'fixed\nIt works.\n'],
  ['no text', 'fixed\n'],
  ['a text that is no sentence', 'fixed\n\nit works\n'],
  ['a list', 'fixed\n\nOne.\n- Two.\n'],
])('a file with %s is malformed', (_, file) => {
  expect(() => parseChange(file)).toThrow();
});

test('a release moves what is unreleased, and each change to its kind, under the version', () => {
  const changelog = '# Changelog\n\n## Unreleased\n\n### Added\n\n- Old.\n\n## 0.1.0, 2026-01-01\n\n- First.\n';
  const changes = ['security\n\nSafer.\n', 'added\n\nNew,\nat last.\n'].map(parseChange);
  const after =
    '# Changelog\n\n## Unreleased\n\n## 0.2.0, 2026-02-01\n\n### Added\n\n- Old.\n- New,\n  at last.\n\n### Security\n\n- Safer.\n\n## 0.1.0, 2026-01-01\n\n- First.\n';
  expect(released(changelog, changes, '0.2.0', '2026-02-01')).toBe(after);
  expect(() => released(after, [], '0.3.0', '2026-03-01')).toThrow('nothing has changed');
  const whole = released(read('CHANGELOG.md'), changes, '0.1.0', '2026-02-01');
  const entries = (text: string) => text.match(/^- /gm)?.length ?? 0;
  expect(entries(whole)).toBe(entries(read('CHANGELOG.md')) + 2);
});
