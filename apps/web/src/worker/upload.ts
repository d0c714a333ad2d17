import { type Created, type Source, uploadSize } from '@mayfly/client';
import type { Task } from './task.ts';
import { throttled } from './throttle.ts';

/** A file and the name that it is sent under: its path in a folder, perhaps. */
export type ChosenFile = { name: string; file: File };

export type UploadArguments = {
  files: ChosenFile[];
  expireSec: number;
  maxDownloads: number;
  password: string | undefined;
};

/** Encrypts and sends. What was encrypted is kept until the service has it, so a failed step alone is repeated. */
export function upload({ files, ...options }: UploadArguments, { client, signal, report }: Task): Promise<Created> {
  const totalBytes = files.reduce((sum, { file }) => sum + file.size, 0);
  let doneBytes = 0;
  const onEncrypted = throttled((done) =>
    report({ kind: 'progress', phase: 'encrypting', doneBytes: done, totalBytes }),
  );
  const onProgress = throttled((done, total) =>
    report({ kind: 'progress', phase: 'sending', doneBytes: done, totalBytes: total }),
  );
  const sources = files.map((chosen) =>
    countedSource(chosen, (bytes) => {
      doneBytes += bytes;
      onEncrypted(doneBytes, totalBytes);
    }),
  );
  return client.uploadFiles(sources, { ...options, onProgress, signal });
}

/** Bytes of the encrypted payload, as the service counts them. Reads nothing. */
export async function measure({ files }: { files: ChosenFile[] }): Promise<number> {
  return uploadSize(files.map(({ name, file }) => ({ name, size: file.size, stream: () => file.stream() })));
}

function countedSource({ name, file }: ChosenFile, onRead: (bytes: number) => void): Source {
  const { size, type, lastModified } = file;
  const counter = () =>
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        onRead(chunk.length);
        controller.enqueue(chunk);
      },
    });
  return { name, size, type, lastModified, stream: () => file.stream().pipeThrough(counter()) };
}
