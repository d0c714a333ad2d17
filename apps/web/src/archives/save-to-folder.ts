import { type Metadata, unpack } from '@mayfly/client';
import { numbered, safePath } from './safe-path.ts';

/**
 * Unpacks a payload into a folder while it arrives, and never over a file that is there. A file whose bytes do not all
 * arrive is removed; complete ones stay, since every byte of them was verified. Throws as `unpack` does, or what the browser
 * says when it cannot write; `onFile` has then been called for what is complete.
 */
export async function saveToFolder(
  folder: FileSystemDirectoryHandle,
  { metadata, payload }: { metadata: Metadata; payload: ReadableStream<Uint8Array> },
  onFile: (path: string) => void = () => {},
): Promise<void> {
  for await (const { name, stream } of unpack(metadata, payload)) {
    const parts = safePath(name);
    const fileName = parts.pop() ?? 'file';
    const { inner, path } = await openFolder(folder, parts);
    const file = await createFile(inner, fileName);
    try {
      // Closing puts the bytes where the name is; a stream that fails aborts instead.
      await stream.pipeTo(await file.createWritable());
    } catch (error) {
      await inner.removeEntry(file.name).catch(() => {}); // best effort: it is empty, and the error matters more
      throw error;
    }
    onFile([...path, file.name].join('/'));
  }
}

async function openFolder(folder: FileSystemDirectoryHandle, names: string[]) {
  let inner = folder;
  const path: string[] = [];
  for (const name of names) {
    inner = await firstFree(name, (free) => inner.getDirectoryHandle(free, { create: true }));
    path.push(inner.name);
  }
  return { inner, path };
}

async function createFile(folder: FileSystemDirectoryHandle, name: string): Promise<FileSystemFileHandle> {
  return firstFree(name, async (free) => {
    if (await exists(folder, free)) throw new DOMException('It is there', 'TypeMismatchError');
    return folder.getFileHandle(free, { create: true });
  });
}

/** The handle of the first numbered name that is not taken by something else. */
async function firstFree<T>(name: string, open: (free: string) => Promise<T>): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await open(numbered(name, number));
    } catch (error) {
      if (!isNamed(error, 'TypeMismatchError')) throw error;
    }
  }
}

async function exists(folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  try {
    await folder.getFileHandle(name);
    return true;
  } catch (error) {
    if (isNamed(error, 'NotFoundError')) return false;
    throw error;
  }
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof DOMException && error.name === name;
}
