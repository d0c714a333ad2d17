import { MayflyError } from '@mayfly/client';
import { saveToFolder } from '../archives/save-to-folder.ts';
import { LeasedDownload, type Leasing } from './leased-download.ts';
import type { Task } from './task.ts';

export type FolderDownload = {
  /** Paths of the files that are complete. */
  saved: string[];
  /** Why there are no more, if there are not all. */
  failure: MayflyError['code'] | undefined;
};

/** Fetches, decrypts and unpacks into a folder. Each file there is whole and authentic, also when the rest failed. */
export async function downloadToFolder(
  { folder, ...leasing }: Leasing & { folder: FileSystemDirectoryHandle },
  task: Task,
): Promise<FolderDownload> {
  const leased = await LeasedDownload.begin(leasing, task);
  const saved: string[] = [];
  let hasBegun = false;
  try {
    const { metadata, payload } = await task.client.download(leasing.link, leased.options(task));
    hasBegun = true;
    await leased.hasBegun();
    await saveToFolder(folder, { metadata, payload }, (path) => saved.push(path));
    leased.stopSaving();
    await leased.finish();
    return { saved, failure: undefined };
  } catch (error) {
    await leased.fail(error);
    if (!hasBegun || !(error instanceof MayflyError)) throw error;
    return { saved, failure: error.code };
  }
}
