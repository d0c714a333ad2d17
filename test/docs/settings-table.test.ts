import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exampleText, type SettingRow, settingRows, tableOf } from '../../scripts/settings-table.ts';

// When one of these fails: node scripts/settings-table.ts

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const documented = rowsOf(tableOf(read('docs/settings.md')));
const actual = settingRows();
const namesOf = (rows: SettingRow[]) => rows.map(({ name }) => name);

function rowsOf(table: string): SettingRow[] {
  return table
    .split('\n')
    .slice(2)
    .map((line) => {
      const [name = '', standard = '', shape = '', about = '', processes = ''] = line
        .replace(/^\|\s*|\s*\|$/g, '')
        .split(/\s*\|\s*/);
      return { name: name.replaceAll('`', ''), standard, shape, about, processes };
    });
}

describe('the table of docs/settings.md', () => {
  test('names every setting that a process reads', () => {
    expect(namesOf(actual).filter((name) => !namesOf(documented).includes(name))).toEqual([]);
  });

  test('names no setting that no process reads, and none twice', () => {
    expect(namesOf(documented).filter((name) => !namesOf(actual).includes(name))).toEqual([]);
    expect(new Set(namesOf(documented)).size).toBe(documented.length);
  });

  test.each(actual)('$name: default, value, description and readers are those of the code', (row) => {
    expect(documented.find(({ name }) => name === row.name)).toEqual(row);
  });
});

test('.env.example holds every setting with its default, commented out', () => {
  expect(read('.env.example')).toBe(exampleText());
  expect(read('.env.example')).not.toMatch(/^[^#\n]/m);
});
