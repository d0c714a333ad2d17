import type { ChosenFile } from '../worker/upload.ts';

export const sizeOf = (files: ChosenFile[]) => files.reduce((sum, { file }) => sum + file.size, 0);

/** As the list of what was sent has it. */
export const contentOf = (files: ChosenFile[]) => ({
  files: files.map(({ name, file }) => ({ name, size: file.size })),
});

/** Of what is added, what was not chosen before: the same name, size and time are the same file. */
export function withoutTwins(chosen: ChosenFile[], more: ChosenFile[]): { fresh: ChosenFile[]; twins: ChosenFile[] } {
  const known = new Set(chosen.map(keyOf));
  const fresh: ChosenFile[] = [];
  const twins: ChosenFile[] = [];
  for (const one of more) {
    (known.has(keyOf(one)) ? twins : fresh).push(one);
    known.add(keyOf(one));
  }
  return { fresh, twins };
}

const keyOf = ({ name, file }: ChosenFile) => JSON.stringify([name, file.size, file.lastModified]);

/** From a file input. A file of a folder brings its path. */
export function fromInput(files: Iterable<File>): ChosenFile[] {
  return Array.from(files, (file) => ({ name: file.webkitRelativePath || file.name || 'file', file }));
}

type Picker = (options: { multiple: true }) => Promise<FileSystemFileHandle[]>;
const picker = () => (globalThis as { showOpenFilePicker?: Picker }).showOpenFilePicker;

/** Whether the browser can ask for files in a way that lets them be opened again after a reload. */
export const hasPicker = () => picker() !== undefined;

/** To be called by a click. None when the person closed the browser's question. */
export async function fromPicker(): Promise<ChosenFile[]> {
  try {
    const handles = (await picker()?.call(globalThis, { multiple: true })) ?? [];
    return await Promise.all(
      handles.map(async (handle) => ({ name: handle.name, file: await handle.getFile(), handle })),
    );
  } catch (error) {
    if ((error as DOMException).name === 'AbortError') return [];
    throw error;
  }
}

/** From a drop or a paste; folders with everything below them. */
export async function fromTransfer(transfer: DataTransfer): Promise<ChosenFile[]> {
  // The list is empty as soon as the event is over: first take everything, then read.
  const items = Array.from(transfer.items)
    .filter(({ kind }) => kind === 'file')
    .map((item) => ({
      entry: item.webkitGetAsEntry?.() ?? null,
      file: item.getAsFile(),
      handle: handleOf(item).catch(() => undefined), // the file will do
    }));
  const chosen: ChosenFile[] = [];
  for (const { entry, file, handle } of items) {
    if (entry?.isDirectory) chosen.push(...(await filesBelow(entry as FileSystemDirectoryEntry)));
    else if (file) chosen.push({ name: file.name || 'file', file, handle: await handle });
  }
  return chosen;
}

type WithHandle = DataTransferItem & { getAsFileSystemHandle?(): Promise<FileSystemHandle | null> };

async function handleOf(item: WithHandle): Promise<FileSystemFileHandle | undefined> {
  const handle = await item.getAsFileSystemHandle?.();
  return handle?.kind === 'file' ? (handle as FileSystemFileHandle) : undefined;
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
