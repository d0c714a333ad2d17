import { type Created, MayflyError, type UnfinishedUpload } from '@mayfly/client';
import { reporting } from './reporting.ts';
import type { Task } from './task.ts';
import { type ChosenFile, clearUp, sourceOf } from './upload.ts';

type ResumeArguments = { upload: UnfinishedUpload; files: ChosenFile[]; isAnnounced: boolean };

/** Goes on with an upload in parts, with the same files in the same order. */
export async function resume({ upload, files, isAnnounced }: ResumeArguments, task: Task): Promise<Created> {
  const sources = files.map((chosen) => sourceOf(chosen));
  const { id, link, ownerSecret } = upload;
  task.report({ kind: 'begun', id });
  if (isAnnounced) task.report({ kind: 'announced', created: { kind: 'upload', id, link, ownerSecret } });
  try {
    return await task.client.resumeUpload(upload, sources, { ...reporting(task, 'sending'), signal: task.signal });
  } catch (error) {
    await clearUp(task, upload, { error, isKept: true });
    throw error;
  }
}

/** How much of it the service has, from 0 to 1; undefined when its time is over. */
export async function storedShare({ upload }: { upload: UnfinishedUpload }, { client, signal }: Task) {
  try {
    const { storedBytes, totalBytes } = await client.getStoredBytes(upload, { signal });
    return storedBytes / totalBytes;
  } catch (error) {
    if (isOver(error)) return undefined;
    throw error;
  }
}

/** Has the service delete what it has of it. */
export async function discard({ upload }: { upload: UnfinishedUpload }, { client, signal }: Task): Promise<void> {
  try {
    await client.cancelUpload(upload, { signal });
  } catch (error) {
    if (!isOver(error)) throw error;
  }
}

function isOver(error: unknown): boolean {
  return error instanceof MayflyError && error.code === 'upload-ended';
}
