import {
  type Created,
  MayflyError,
  type Source,
  type UnfinishedUpload,
  type UploadParts,
  uploadSize,
} from '@mayfly/client';
import type { Unfinished } from '../unfinished/unfinished-list.ts';
import { reporting } from './reporting.ts';
import type { Task } from './task.ts';
import { throttled } from './throttle.ts';

/** A file and the name that it is sent under: its path in a folder, perhaps. With a handle it can be opened again later. */
export type ChosenFile = { name: string; file: File; handle?: FileSystemFileHandle | undefined };

export type UploadArguments = {
  files: ChosenFile[];
  expireSec: number;
  maxDownloads: number;
  password: string | undefined;
  /** As the service's config has them. */
  uploadParts: UploadParts | undefined;
  maxFilesPerUpload: number;
  sealedMetadata: boolean | undefined;
  /** Whether its link is wanted before it is sent; it is then sent in parts, whatever its size. */
  isAnnounced: boolean;
  /** Link of the file request that it answers. */
  request?: string | undefined;
};

/**
 * Encrypts and sends: in parts what is larger than one, where the service takes them, and then keeps what it takes to resume
 * it. Otherwise what was encrypted is kept until the service has it, so a failed step alone is repeated.
 */
export async function upload(
  { files, isAnnounced, request, ...options }: UploadArguments,
  task: Task,
): Promise<Created> {
  const { client, signal, report } = task;
  const totalBytes = files.reduce((sum, { file }) => sum + file.size, 0);
  let begun: UnfinishedUpload | undefined;
  let isKept = false;
  let doneBytes = 0;
  const onEncrypted = throttled((done) =>
    report({ kind: 'progress', phase: 'encrypting', doneBytes: done, totalBytes }),
  );
  const sources = files.map((chosen) =>
    sourceOf(chosen, (bytes) => {
      doneBytes += bytes;
      if (!begun) onEncrypted(doneBytes, totalBytes); // parts are encrypted while others are sent
    }),
  );
  async function onUnfinished(unfinished: UnfinishedUpload) {
    begun = unfinished;
    const { expireSec, maxDownloads, password } = options;
    const chosen = files.map(({ name, handle }) => ({ name, handle }));
    const hasPassword = password !== undefined;
    isKept = await keep({ upload: unfinished, chosen, expireSec, maxDownloads, hasPassword, isAnnounced, request });
    report({ kind: 'begun', id: unfinished.id });
  }
  const onAnnounced = (created: Created) => report({ kind: 'announced', created });
  const announcement = isAnnounced ? { inParts: true, onAnnounced } : {};
  try {
    return await client.uploadFiles(sources, {
      ...options,
      ...announcement,
      ...reporting(task, 'sending'),
      onUnfinished,
      signal,
    });
  } catch (error) {
    if (begun) await clearUp(task, begun, { error, isKept });
    throw error;
  }
}

/** Storage that does not answer holds no upload up for longer. */
const KEEP_MS = 3_000;

async function keep(item: Unfinished): Promise<boolean> {
  try {
    const { keepUnfinished } = await import('../unfinished/unfinished-list.ts');
    const inVain = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), KEEP_MS));
    return await Promise.race([keepUnfinished(item), inVain]);
  } catch {
    return false; // its code did not come; the upload can do without
  }
}

/** Nobody waits longer for a page to stop. */
const CANCEL_MS = 5_000;

/** After a failure: what nobody can continue, or wants to, is deleted here and on the service. */
export async function clearUp(
  { client }: Task,
  upload: UnfinishedUpload,
  { error, isKept }: { error: unknown; isKept: boolean },
): Promise<void> {
  const isFinal = error instanceof MayflyError && ['aborted', 'upload-ended'].includes(error.code);
  if (isKept && !isFinal) return;
  await client.cancelUpload(upload, { signal: AbortSignal.timeout(CANCEL_MS) }).catch(() => {}); // it ends by itself
  await import('../unfinished/unfinished-list.ts')
    .then(({ forgetUnfinished }) => forgetUnfinished(upload.id))
    .catch(() => {}); // it is offered, and is over
}

/** Bytes of the encrypted payload, as the service counts them; undefined when it has too many files. Reads nothing. */
export async function measure({ files, uploadParts }: Pick<UploadArguments, 'files' | 'uploadParts'>) {
  const sources = files.map((chosen) => sourceOf(chosen));
  try {
    return uploadSize(sources, { uploadParts });
  } catch (error) {
    const code = error instanceof MayflyError && error.code;
    if (code === 'too-many-files') return undefined;
    if (code === 'too-large') return uploadSize(sources); // for any number of parts
    throw error;
  }
}

export function sourceOf({ name, file }: ChosenFile, onRead: (bytes: number) => void = () => {}): Source {
  const { size, type, lastModified } = file;
  const counter = () =>
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        onRead(chunk.length);
        controller.enqueue(chunk);
      },
    });
  const stream = () => file.stream().pipeThrough(counter());
  return { name, size, type, lastModified, stream, slice: (startBytes) => file.slice(startBytes) };
}
