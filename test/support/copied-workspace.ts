import { cpSync, existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const ROOT_FILES = ['LICENSE', 'package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.json'];
const NOT_SOURCES = new Set(['node_modules', 'dist']);

/** Copies packages of this workspace into a folder, with all that they depend on: nothing in it leads back here. */
export function copyWorkspace(packages: string[], target: string) {
  const done = new Set<string>();
  const copy = (path: string, filter: (source: string) => boolean = () => true) =>
    cpSync(join(ROOT, path), join(target, path), { recursive: true, verbatimSymlinks: true, filter });
  mkdirSync(target, { recursive: true });
  for (const file of ROOT_FILES) copy(file);
  const waiting = [...packages];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (done.has(path)) continue;
    done.add(path);
    const isInstalled = path.startsWith('node_modules');
    if (isInstalled) copy(path);
    else copy(path, (source) => !NOT_SOURCES.has(basename(source)));
    const folder = join(path, 'node_modules');
    if (!isInstalled && existsSync(join(ROOT, folder))) copy(folder, (source) => !source.includes(`${sep}.vite`));
    waiting.push(...linkedFrom(join(ROOT, folder)));
  }
}

/** What a folder of dependencies leads to: workspace packages, and folders of pnpm's store, each with what that one depends on. */
function linkedFrom(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name.startsWith('@')) return linkedFrom(path);
    if (!entry.isSymbolicLink()) return [];
    const to = relative(ROOT, realpathSync(path));
    return [/^node_modules\/\.pnpm\/[^/]+/.exec(to)?.[0] ?? to];
  });
}
