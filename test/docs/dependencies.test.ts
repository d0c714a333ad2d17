import { existsSync, globSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

// Decision reasons-for-dependencies.

type Manifest = { name: string; version: string; license?: unknown } & Record<string, Record<string, string>>;
const root = resolve(import.meta.dirname, '../..');
const read = (folder: string): Manifest => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
const doc = readFileSync(join(root, 'docs/dependencies.md'), 'utf8');
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'];
const folders = ['.', ...globSync(['{apps,libs,services}/*', 'bench', 'test'], { cwd: root })].filter((folder) =>
  existsSync(join(root, folder, 'package.json')),
);

test('every package that a package.json names has a reason, and every reason is for one of them', () => {
  const named = folders.flatMap((folder) =>
    KINDS.flatMap((kind) => Object.entries(read(folder)[kind] ?? {}))
      .filter(([, version]) => !version.startsWith('workspace:'))
      .map(([name]) => name),
  );
  const rows = [...doc.matchAll(/^\| (`.+?`) \| (.*) \|$/gm)];
  const explained = rows.flatMap(([, names = '']) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(explained.toSorted()).toEqual([...new Set(named)].sort());
  expect(rows.filter(([, , reason = '']) => reason.length < 15)).toEqual([]);
});

/** What a folder of installed packages leads to, as paths of their own. */
function installedIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name.startsWith('@')) return installedIn(path);
    return entry.isSymbolicLink() ? [realpathSync(path)] : [];
  });
}

/** Everything that runs or is bundled, with what builds it: what packages name, what those name, and so on. */
function shipped(): Map<string, Manifest> {
  const found = new Map<string, Manifest>();
  // The command line bundles what it names for development, but these only build and test it.
  const TOOLS = ['@mayfly/testing', '@mayfly/web', 'vitest', 'client-zip'];
  const start = (folder: string, kind: string) =>
    Object.keys(read(folder)[kind] ?? {})
      .filter((name) => !TOOLS.includes(name))
      .map((name) => realpathSync(join(root, folder, 'node_modules', name)));
  const waiting = ['services/all', 'apps/web'].flatMap((folder) => start(folder, 'dependencies'));
  waiting.push(...start('apps/cli', 'devDependencies'));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    const manifest = read(relative(root, path));
    found.set(path, manifest);
    const isOurs = !path.includes('node_modules');
    const siblings = isOurs ? join(path, 'node_modules') : path.slice(0, path.lastIndexOf(manifest.name) - 1);
    const wanted = new Set(
      ['dependencies', 'optionalDependencies'].flatMap((kind) => Object.keys(manifest[kind] ?? {})),
    );
    waiting.push(...installedIn(siblings).filter((one) => wanted.has(read(relative(root, one)).name)));
  }
  return found;
}

test('everything that runs or is bundled has a licence that an AGPL work may contain', () => {
  const [, list = ''] = /^## Licences\n([\s\S]+)/m.exec(doc) ?? [];
  const allowed = [...list.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  const all = [...shipped()].filter(([path]) => path.includes('node_modules'));
  expect(all.length).toBeGreaterThan(200);
  const others = all.filter(([, { license }]) => !allowed.includes(String(license)));
  expect(others.map(([, { name, license }]) => `${name}: ${JSON.stringify(license)}`)).toEqual([]);
  const unused = allowed.filter((licence) => !all.some(([, { license }]) => license === licence));
  expect(unused).toEqual([]);
});
