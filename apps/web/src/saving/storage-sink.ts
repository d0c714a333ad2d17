import { batches } from './batches.ts';
import { NoRoom } from './no-room.ts';
import type { Sink } from './sink.ts';

/** As much of the class as is used: the app is checked with a page's types, which lack it. */
type AccessHandle = {
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
};
type WorkerFileHandle = FileSystemFileHandle & { createSyncAccessHandle(): Promise<AccessHandle> };

const PREFIX = 'mayfly-';

/**
 * The browser's own storage (OPFS), else its memory: for browsers that can neither ask for a place nor start a download
 * that is a stream. The page hands the whole file out in the end.
 */
export async function openStorageSink(signal: AbortSignal): Promise<Sink> {
  try {
    return await openOpfsSink(signal);
  } catch {
    return openMemorySink(signal); // private windows, old browsers, storage that is switched off
  }
}

async function openOpfsSink(signal: AbortSignal): Promise<Sink> {
  const folder = await navigator.storage.getDirectory();
  await removeOld(folder);
  const name = `${PREFIX}${crypto.randomUUID()}`;
  const handle = (await folder.getFileHandle(name, { create: true })) as WorkerFileHandle;
  const access = await handle.createSyncAccessHandle();
  let at = 0;
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
      await folder.removeEntry(name);
    },
  };
}

/** What an earlier download left: it has been handed out, or its page is gone. One that is open cannot be removed. */
async function removeOld(folder: FileSystemDirectoryHandle) {
  for await (const name of folder.keys()) {
    if (name.startsWith(PREFIX)) await folder.removeEntry(name).catch(() => {});
  }
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
