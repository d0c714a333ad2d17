import { type Link, MayflyError } from '@mayfly/client';
import { saveToFolder } from '../archives/save-to-folder.ts';
import type { Task } from './task.ts';
import { throttled } from './throttle.ts';

export type FolderDownload = {
  /** Paths of the files that are complete. */
  saved: string[];
  /** Why there are no more, if there are not all. */
  failure: MayflyError['code'] | undefined;
};

/** Fetches, decrypts and unpacks into a folder. Each file there is whole and authentic, also when the rest failed. */
export async function downloadToFolder(
  { link, folder }: { link: string | Link; folder: FileSystemDirectoryHandle },
  { client, signal, report }: Task,
): Promise<FolderDownload> {
  const onProgress = throttled((doneBytes, totalBytes) =>
    report({ kind: 'progress', phase: 'receiving', doneBytes, totalBytes }),
  );
  const saved: string[] = [];
  const { metadata, payload } = await client.download(link, { onProgress, signal });
  try {
    await saveToFolder(folder, { metadata, payload }, (path) => saved.push(path));
    return { saved, failure: undefined };
  } catch (error) {
    if (!(error instanceof MayflyError)) throw error;
    return { saved, failure: error.code };
  }
}
