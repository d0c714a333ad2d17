import { hasServiceWorkers } from '../service-worker/active.ts';
import { beginDownload } from './begin-download.ts';

/** Where a download goes; the worker writes there. */
export type Place =
  /** A file that the person has chosen (File System Access). */
  | { kind: 'picked'; handle: FileSystemFileHandle }
  /** The browser's own list of downloads, through the service worker. */
  | { kind: 'service-worker'; port: MessagePort }
  /** The browser's storage or memory, until it is whole. */
  | { kind: 'storage' };

export type ChosenPlace = { place: Place; transfer: Transferable[]; release: () => void };

type Picker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;
const picker = () => (window as { showSaveFilePicker?: Picker }).showSaveFilePicker;

/** Whether a download needs as much room in the browser as it is large, for a word about it before. */
export function needsRoom(): boolean {
  return !picker() && !hasServiceWorkers();
}

/** To be called by a click. Undefined when the person closed the browser's question. */
export async function choosePlace(file: { name: string; size: number }): Promise<ChosenPlace | undefined> {
  const pick = picker();
  if (pick) {
    try {
      const handle = await pick.call(window, { suggestedName: safeName(file.name) });
      return { place: { kind: 'picked', handle }, transfer: [], release: () => {} };
    } catch (error) {
      if ((error as DOMException).name === 'AbortError') return undefined;
      // Not allowed here (a policy, a frame): the other ways may be.
    }
  }
  const begun = hasServiceWorkers() ? await beginDownload({ ...file, name: safeName(file.name) }) : undefined;
  if (begun) {
    const { port, release } = begun;
    return { place: { kind: 'service-worker', port }, transfer: [port], release };
  }
  return { place: { kind: 'storage' }, transfer: [], release: () => {} };
}

type FolderPicker = (options: { mode: 'readwrite' }) => Promise<FileSystemDirectoryHandle>;
const folderPicker = () => (window as { showDirectoryPicker?: FolderPicker }).showDirectoryPicker;

/** Whether this browser lets a page write into a folder that the person chooses. */
export function hasFolders(): boolean {
  return folderPicker() !== undefined;
}

/** To be called by a click. Undefined when the person closed the browser's question, or said no. */
export async function chooseFolder(): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    return await folderPicker()?.call(window, { mode: 'readwrite' });
  } catch {
    return undefined;
  }
}

/** Hands out a file that lies in the browser's storage or memory. */
export function saveBlob(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = safeName(name);
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The last part of a path, without what file systems refuse: the name is the sender's choice. */
export function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a name
  const clean = last.replace(/[\u0000-\u001f\u007f<>:"|?*\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '_');
  return clean.replace(/^[.\s]+|[.\s]+$/g, '') || 'file';
}
