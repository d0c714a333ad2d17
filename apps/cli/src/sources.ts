import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Source } from '@mayfly/client';
import { fileSource } from '@mayfly/client/node';
import { CliError } from './exit-codes.ts';

/**
 * The files that some paths name. A folder stands for every file in it, under names that begin with the folder's own;
 * links in it are not followed, what is left out is handed to `onSkipped`. `givenName` is for the only path there is.
 */
export async function collectSources(
  paths: string[],
  onSkipped: (path: string) => void,
  givenName?: string,
): Promise<Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
      throw new CliError('usage', error.code === 'ENOENT' ? `${path} does not exist` : `${path} cannot be read`, error);
    });
    if (!facts.isDirectory()) {
      sources.push(await fileSource(path, givenName === undefined ? {} : { name: givenName }));
      continue;
    }
    const before = sources.length;
    await collectFolder(path, givenName ?? basename(resolve(path)), sources, onSkipped);
    if (sources.length === before) throw new CliError('usage', `There is no file in ${path}`);
  }
  return sources;
}

async function collectFolder(path: string, name: string, sources: Source[], onSkipped: (path: string) => void) {
  const entries = await readdir(path, { withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const [entryPath, entryName] = [join(path, entry.name), `${name}/${entry.name}`];
    if (entry.isDirectory()) await collectFolder(entryPath, entryName, sources, onSkipped);
    else if (entry.isFile()) sources.push(await fileSource(entryPath, { name: entryName }));
    else onSkipped(entryPath);
  }
}

/** Whether a recipient would take it: no path, nothing that leads elsewhere. */
export function isFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\\]/.test(name);
}
