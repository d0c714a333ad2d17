import { lstat, mkdir, realpath, statfs } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { Metadata } from '@mayfly/client';
import { formatBytes } from './amounts.ts';
import { safeEntryParts } from './entry-names.ts';
import { CliError } from './exit-codes.ts';

export type Destination = {
  folder: string;
  /** One for each file of the metadata, in its order. */
  paths: string[];
  /** Those of the paths where something is already. */
  existing: string[];
};

/**
 * Where the files of an upload will be. Finds everything that would fail later while nothing is spent yet: names that
 * lead out of the folder, no place on the disk.
 */
export async function chooseDestination(folder: string, metadata: Metadata): Promise<Destination> {
  await makeFolder(folder);
  const paths = uniquePaths(metadata.files.map(({ name }) => safeEntryParts(name))).map((path) => join(folder, path));
  const inside = await realpath(folder);
  const existing: string[] = [];
  for (const path of paths) {
    await checkParents(path, folder, inside);
    if (await exists(path)) existing.push(path);
  }
  await checkSpace(
    folder,
    metadata.files.reduce((sum, { size }) => sum + size, 0),
  );
  return { folder, paths, existing };
}

export async function makeFolder(folder: string) {
  await mkdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new CliError('disk', `${folder} is not a folder that can be written to (${error.code})`, error);
  });
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

/** `a.txt`, `a (2).txt`: also for file systems that take two names for the same. Refuses a file inside a file. */
function uniquePaths(names: string[][]): string[] {
  const taken = new Set<string>();
  const paths = names.map((parts) => {
    const path = parts.join(sep);
    let unique = path;
    for (let number = 2; taken.has(sameName(unique)); number += 1) unique = numbered(path, number);
    taken.add(sameName(unique));
    return unique;
  });
  for (const path of paths) {
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
      if (taken.has(sameName(parent))) {
        throw new CliError(
          'usage',
          'The sender gave one name to a file and to a folder; -o - writes the archive itself',
        );
      }
    }
  }
  return paths;
}

const sameName = (path: string) => path.normalize('NFC').toLowerCase();

/** `a.txt` as `a (2).txt`. */
export function numbered(path: string, number: number): string {
  return path.replace(/((?<=[^/\\])\.[^./\\]+)?$/, (ending) => ` (${number})${ending}`);
}

/** A link in the folder may lead elsewhere: its owner did not ask for that. */
async function checkParents(path: string, folder: string, inside: string) {
  let parent = dirname(path);
  while (parent !== folder && !(await exists(parent))) parent = dirname(parent);
  const real = await realpath(parent);
  const way = relative(inside, real);
  if (way === '..' || way.startsWith(`..${sep}`)) {
    throw new CliError('usage', `${parent} is a link that leads out of ${folder}`);
  }
}

async function checkSpace(folder: string, neededBytes: number) {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes < neededBytes) {
    throw new CliError(
      'disk',
      `${formatBytes(neededBytes)} are needed in ${folder}, ${formatBytes(freeBytes)} are free`,
    );
  }
}
