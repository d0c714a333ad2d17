import type { FileEntry } from '@mayfly/client';

export type Folder = {
  /** Empty for the top. */
  name: string;
  folders: Folder[];
  files: { name: string; sizeBytes: number }[];
  /** Of everything in it. */
  sizeBytes: number;
  fileCount: number;
};

/** Control characters, and those that turn the direction of text: "gpj.exe" can be made to look like "exe.jpg". */
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** The entries of a received archive as folders, each sorted by name; names are made fit to be shown. */
export function toFolders(entries: FileEntry[], locale?: string): Folder {
  const top = newFolder('');
  for (const { name, size } of entries) {
    const parts = pathParts(name).map(visibleName);
    const fileName = parts.pop() ?? visibleName(name);
    let folder = top;
    const passed = [top];
    for (const part of parts) {
      folder = enter(folder, part);
      passed.push(folder);
    }
    folder.files.push({ name: fileName, sizeBytes: size });
    for (const one of passed) {
      one.sizeBytes += size;
      one.fileCount += 1;
    }
  }
  sort(top, new Intl.Collator(locale, { numeric: true }));
  return top;
}

/** A name as it may be shown: what cannot be seen is a box. */
export function visibleName(name: string): string {
  return name.toWellFormed().replace(INVISIBLE, '\u25a1');
}

/** What lies between the slashes, without what would lead up or nowhere. */
export function pathParts(name: string): string[] {
  return name.split(/[/\\]/).filter((part) => part !== '' && part !== '.' && part !== '..');
}

function enter(folder: Folder, name: string): Folder {
  const known = folder.folders.find((one) => one.name === name);
  if (known) return known;
  const made = newFolder(name);
  folder.folders.push(made);
  return made;
}

function newFolder(name: string): Folder {
  return { name, folders: [], files: [], sizeBytes: 0, fileCount: 0 };
}

function sort(folder: Folder, collator: Intl.Collator) {
  const byName = (one: { name: string }, other: { name: string }) => collator.compare(one.name, other.name);
  folder.folders.sort(byName);
  folder.files.sort(byName);
  for (const inner of folder.folders) sort(inner, collator);
}
