import { batches } from './batches.ts';
import { holdDownload } from './kept-downloads.ts';
import { clearLeftovers, PREFIX, removeFile } from './leftovers.ts';
import { NoRoom } from './no-room.ts';
import type { Sink } from './sink.ts';

/** As much of the class as is used: the app is checked with a page's types, which lack it. */
type AccessHandle = {
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(sizeBytes: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
};
type WorkerFileHandle = FileSystemFileHandle & { createSyncAccessHandle(): Promise<AccessHandle> };

/** A file in the browser's storage, held by whoever opens it: its key, and how much of it is there already. */
export type StoredPart = { key: string; storedBytes: number };

/**
 * The browser's own storage (OPFS), else its memory: for browsers that can neither ask for a place nor start a download
 * that is a stream. The page hands the whole file out in the end.
 */
export async function openStorageSink(signal: AbortSignal, part?: StoredPart): Promise<Sink> {
  try {
    return await openOpfsSink(signal, part ?? (await newPart()));
  } catch {
    return openMemorySink(signal); // private windows, old browsers, storage that is switched off
  }
}

/** Of a file that this page alone knows, until it ends. */
async function newPart(): Promise<StoredPart> {
  const key = crypto.randomUUID();
  await holdDownload(key);
  return { key, storedBytes: 0 };
}

async function openOpfsSink(signal: AbortSignal, { key, storedBytes }: StoredPart): Promise<Sink> {
  await clearLeftovers();
  const folder = await navigator.storage.getDirectory();
  const handle = (await folder.getFileHandle(`${PREFIX}${key}`, { create: true })) as WorkerFileHandle;
  const access = await handle.createSyncAccessHandle();
  // What came after the last save may be there after a crash, or only look so.
  const startBytes = Math.min(storedBytes, access.getSize());
  access.truncate(startBytes);
  let at = startBytes;
  return {
    writable: batches(async (bytes) => {
      // It writes as much as there is room for, and says how much that was.
      if (access.write(bytes, { at }) !== bytes.length) throw new NoRoom();
      at += bytes.length;
    }),
    signal,
    async finish() {
      access.flush();
      access.close();
      const file = await handle.getFile();
      if (file.size !== at) throw new NoRoom();
      return file;
    },
    async discard() {
      access.close();
      await removeFile(key);
    },
    part: {
      startBytes,
      save() {
        access.flush();
        return at;
      },
      leave: () => access.close(),
    },
  };
}

function openMemorySink(signal: AbortSignal): Sink {
  let parts: Blob[] = [];
  return {
    writable: batches(async (bytes) => {
      parts.push(new Blob([bytes]));
    }),
    signal,
    async finish() {
      return new Blob(parts);
    },
    async discard() {
      parts = [];
    },
  };
}
