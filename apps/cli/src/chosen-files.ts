import type { FileEntry } from '@mayfly/client';
import { CliError } from './exit-codes.ts';
import { printableName } from './printable.ts';

const MOST_SIMILAR = 5;

/**
 * Which files `--only` names, in the order of the archive: each by its whole name as `mayfly info` shows it, or all below a folder; all
 * files where nothing is named. Throws when a name does not occur, with those that are like it.
 */
export function chooseFiles(files: FileEntry[], only: string[] | undefined): number[] {
  const indexes = [...files.keys()];
  if (!only) return indexes;
  const names = files.map(({ name }) => printableName(name));
  const chosen = new Set<number>();
  for (const wanted of only) {
    const folder = wanted.replace(/\/*$/, '/');
    const found = indexes.filter((index) => names[index] === wanted || names[index]?.startsWith(folder));
    if (found.length === 0)
      throw new CliError('usage', `There is no "${printableName(wanted)}" in it. ${hint(wanted, names)}`);
    for (const index of found) chosen.add(index);
  }
  return indexes.filter((index) => chosen.has(index));
}

function hint(wanted: string, names: string[]): string {
  const similar = [...new Set(names)]
    .map((name) => ({ name, distance: distanceOf(wanted.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(2, wanted.length / 3))
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, MOST_SIMILAR);
  const all = 'mayfly info LINK lists all names';
  return similar.length === 0 ? all : `Similar: ${similar.map(({ name }) => name).join(', ')}; ${all}`;
}

/** Of the whole names, or without the folders that were left out; nothing where one holds the other. */
function distanceOf(wanted: string, name: string): number {
  const last = name.slice(name.lastIndexOf('/') + 1);
  if (name.includes(wanted) || wanted.endsWith(`/${last}`) || wanted === last) return 0;
  return Math.min(edits(wanted, name), edits(wanted, last));
}

/** How many characters have to be added, removed or replaced to make one of the other (Levenshtein). */
function edits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [at, character] of [...one].entries()) {
    const next = [at + 1];
    for (const [index, wanted] of [...other].entries()) {
      const replaced = (row[index] ?? 0) + (character === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
