import { lstat, mkdtemp, realpath, rmdir, statfs } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { FileEntry, Metadata } from '@mayfly/client';
import { formatBytes, formatLimit, plural } from './amounts.ts';
import { safeEntryParts } from './entry-names.ts';
import { CliError } from './exit-codes.ts';
import { makeMissing, statOf } from './make-folder.ts';

/** What `-o` names. */
export type Place = {
  /** An existing folder, one that is to be made, or where the file is to be. */
  folder: string;
  /** Where nothing is a folder: what one file is called there. Several make a folder of it. */
  file?: string;
};

export type Destination = {
  /** Beside what is to be there. */
  folder: string;
  /** One for each file of the metadata, in its order. */
  paths: string[];
  /** Those of the paths where something is already. */
  existing: string[];
};

/** A folder where there is one or where the name ends like one, else a file. */
export async function readPlace(output: string): Promise<Place> {
  const isFolder = output.endsWith('/') || output.endsWith(sep) || (await statOf(output))?.isDirectory();
  return isFolder ? { folder: output } : { folder: dirname(output), file: output };
}

/**
 * Where the files of an upload will be. Finds everything that would fail later while nothing is spent yet: names that
 * lead out of the folder, no place on the disk.
 */
export async function chooseDestination(output: string, metadata: Metadata, keptBytes = 0): Promise<Destination> {
  const { folder, file } = await readPlace(output);
  const chosen =
    file === undefined
      ? await inFolder(folder, metadata.files)
      : metadata.archive
        ? await inNewFolder(file, metadata.files)
        : await asFile({ folder, file });
  const neededBytes = metadata.files.reduce((sum, { size }) => sum + size, 0);
  await checkSpace(chosen.folder, neededBytes - keptBytes);
  return chosen;
}

/** Of one file, wherever its user says. */
export async function asFile({ folder, file }: Required<Place>): Promise<Destination> {
  await makeFolder(folder);
  const there = await statOf(file);
  if (there && !there.isFile()) {
    throw new CliError('usage', `${file} is not a file that can be replaced; -o - writes to stdout`);
  }
  return { folder, paths: [file], existing: (await exists(file)) ? [file] : [] };
}

async function inNewFolder(folder: string, files: FileEntry[]): Promise<Destination> {
  if (await exists(folder)) {
    const what = `it was sent as ${plural(files.length, 'file')} that go into a folder`;
    throw new CliError('usage', `${folder} is not a folder, and ${what}: -o FOLDER names another one`);
  }
  return inFolder(folder, files);
}

async function inFolder(folder: string, files: FileEntry[]): Promise<Destination> {
  await makeFolder(folder);
  const paths = uniquePaths(files.map(({ name }) => safeEntryParts(name))).map((path) => join(folder, path));
  const inside = await realpath(folder);
  const existing: string[] = [];
  for (const path of paths) {
    await checkParents(path, folder, inside);
    if (await exists(path)) existing.push(path);
  }
  return { folder, paths, existing };
}

/** Makes sure that there is one, and that something can be written to it. */
export async function makeFolder(folder: string) {
  try {
    await makeMissing(folder);
    await rmdir(await mkdtemp(join(folder, '.mayfly-')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError('disk', `${folder} is not a folder that can be written to (${code})`, error);
  }
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      if (error.code === 'ENOTDIR') throw new CliError('disk', `${dirname(path)} is not a folder`, error);
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
      `${formatBytes(neededBytes)} are needed in ${folder}, ${formatLimit(freeBytes)} are free`,
    );
  }
}
