import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Setting } from '@mayfly/shared/config';
import { databaseSettings, httpSettings } from '@mayfly/shared/settings';
import { settings as files } from '../services/files/src/index.ts';
import { settings as gateway, splitSettings } from '../services/gateway/src/index.ts';
import { settings as janitor } from '../services/janitor/src/index.ts';
import { settings as notes } from '../services/notes/src/index.ts';

// node scripts/settings-table.ts: writes the table of docs/settings.md, and .env.example, from what the processes read.

type Settings = Record<string, Setting<unknown>>;

/** What each process reads. A later entry of a name wins in `all`, as in its main.ts. */
export const PROCESSES: Record<string, Settings> = {
  all: { ...files, ...notes, ...janitor, ...gateway({}) },
  gateway: splitSettings({}),
  files,
  notes,
  janitor,
  migrate: { LOG_LEVEL: httpSettings.LOG_LEVEL, ...databaseSettings },
};

const REQUIRED_IN_PRODUCTION = Object.entries(gateway({ NODE_ENV: 'production' }))
  .filter(([, { optional, fallback }]) => !optional && fallback === undefined)
  .map(([name]) => name);

export type SettingRow = { name: string; standard: string; shape: string; about: string; processes: string };

/** One row per setting, in the order in which the processes name them. */
export function settingRows(): SettingRow[] {
  const names = new Set(Object.values(PROCESSES).flatMap((settings) => Object.keys(settings)));
  return [...names].map((name) => {
    const readers = Object.entries(PROCESSES).flatMap(([process, settings]) => {
      const setting = settings[name];
      return setting ? [{ process, setting }] : [];
    });
    const standards = Map.groupBy(readers, ({ setting }) => standardOf(name, setting));
    const standard = [...standards].map(([value, group]) =>
      standards.size === 1 ? value : `${value} (${group.map(({ process }) => process).join(', ')})`,
    );
    const { shape = '', about = '' } = readers[0]?.setting ?? {};
    const processes = readers.map(({ process }) => process).join(', ');
    return { name, standard: standard.join(', '), shape, about, processes };
  });
}

function standardOf(name: string, { fallback, optional }: Setting<unknown>): string {
  if (fallback !== undefined) return `\`${fallback}\``;
  if (!optional) return 'required';
  return REQUIRED_IN_PRODUCTION.includes(name) ? 'none; required with NODE_ENV=production' : 'none';
}

const HEADER = '| Name | Default | Value | What it is | Read by |\n|---|---|---|---|---|';

function tableText(): string {
  const lines = settingRows().map(
    ({ name, standard, shape, about, processes }) =>
      `| \`${name}\` | ${standard} | ${shape} | ${about} | ${processes} |`,
  );
  return [HEADER, ...lines].join('\n');
}

/** The table of docs/settings.md: everything from its header to the first line that is no row. */
export function tableOf(document: string): string {
  return document.match(/^\| Name +\| Default +\| Value .*\n(?:\|.*(?:\n|$))*/m)?.[0].trimEnd() ?? '';
}

export function exampleText(): string {
  const intro =
    '# Copy this file to .env and take the # away from what you change: npm start and docker compose read it.\n' +
    '# A variable of the environment wins over this file. docs/settings.md has the same as a table.\n';
  const entries = settingRows().map(({ name, shape, about }) => {
    const fallback = PROCESSES.all?.[name]?.fallback ?? PROCESSES.gateway?.[name]?.fallback ?? '';
    return `\n# ${about}; ${shape}\n#${name}=${fallback}\n`;
  });
  return intro + entries.join('');
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const path = join(root, 'docs/settings.md');
  const document = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    document.replace(tableOf(document), () => tableText()),
  );
  writeFileSync(join(root, '.env.example'), exampleText());
}
