import type { FileEntry } from '@mayfly/client';

export type Folder = {
  /** Empty for the top. */
  name: string;
  folders: Folder[];
  files: { name: string; sizeBytes: number /** Which of the entries it is. */; index: number }[];
  /** Of everything in it. */
  sizeBytes: number;
  fileCount: number;
};

/** Control characters, and those that turn the direction of text: "gpj.exe" can be made to look like "exe.jpg". */
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
/** Joiners belong to emoji and to scripts whose letters change with them; elsewhere nobody sees that they are there. */
const STRAY_JOINER =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Variation_Selector}\p{scx=Arab}\p{scx=Syrc}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Mong}])[\u200c\u200d]/gu;

/** The entries of a received archive as folders, each sorted by name; names are made fit to be shown. */
export function toFolders(entries: FileEntry[], locale?: string): Folder {
  const top = newFolder('');
  for (const [index, { name, size }] of entries.entries()) {
    const parts = pathParts(name).map(visibleName);
    const fileName = parts.pop() ?? visibleName(name);
    let folder = top;
    const passed = [top];
    for (const part of parts) {
      folder = enter(folder, part);
      passed.push(folder);
    }
    folder.files.push({ name: fileName, sizeBytes: size, index });
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
  return name.toWellFormed().replace(INVISIBLE, '\u25a1').replace(STRAY_JOINER, '\u25a1');
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
