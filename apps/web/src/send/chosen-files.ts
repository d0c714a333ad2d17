import type { ChosenFile } from '../worker/upload.ts';

/** From a file input. A file of a folder brings its path. */
export function fromInput(files: Iterable<File>): ChosenFile[] {
  return Array.from(files, (file) => ({ name: file.webkitRelativePath || file.name || 'file', file }));
}

/** From a drop or a paste; folders with everything below them. */
export async function fromTransfer(transfer: DataTransfer): Promise<ChosenFile[]> {
  // The list is empty as soon as the event is over: first take everything, then read.
  const items = Array.from(transfer.items)
    .filter(({ kind }) => kind === 'file')
    .map((item) => ({ entry: item.webkitGetAsEntry?.() ?? null, file: item.getAsFile() }));
  const chosen: ChosenFile[] = [];
  for (const { entry, file } of items) {
    if (entry?.isDirectory) chosen.push(...(await filesBelow(entry as FileSystemDirectoryEntry)));
    else if (file) chosen.push({ name: file.name || 'file', file });
  }
  return chosen;
}

async function filesBelow(folder: FileSystemDirectoryEntry): Promise<ChosenFile[]> {
  const chosen: ChosenFile[] = [];
  for (const entry of await entriesOf(folder)) {
    if (entry.isDirectory) chosen.push(...(await filesBelow(entry as FileSystemDirectoryEntry)));
    else chosen.push({ name: entry.fullPath.replace(/^\//, ''), file: await fileOf(entry as FileSystemFileEntry) });
  }
  return chosen;
}

/** A reader gives some entries at a time, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return entries;
    entries.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}
