import { archiveSize, withUniqueNames, writeArchive } from './archive.ts';
import { MayflyError } from './errors.ts';
import type { Metadata } from './metadata.ts';
import { readSource, type Source } from './source.ts';

export type Payload = {
  metadata: Metadata;
  size: number;
  /** Reads the files; can be called once. */
  stream(): ReadableStream<Uint8Array>;
};

/** What is uploaded for some files: the file itself, or an archive of them. */
export function buildPayload(files: Source[]): Payload {
  const sources = withUniqueNames(files);
  const [first, ...others] = sources;
  if (!first) throw new MayflyError('invalid-request', { message: 'There is no file to send' });
  const entries = sources.map(({ name, size, type = '' }) => ({ name, type, size }));
  if (others.length === 0) {
    return { metadata: { files: entries }, size: first.size, stream: () => readSource(first) };
  }
  const metadata = { files: entries, archive: 'zip' } as const;
  return { metadata, size: archiveSize(sources), stream: () => writeArchive(sources) };
}

export type OnProgress = (doneBytes: number, totalBytes: number) => void;

/** Counts what passes. */
export function withProgress(onProgress: OnProgress | undefined, totalBytes: number) {
  let doneBytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      doneBytes += chunk.length;
      onProgress?.(doneBytes, totalBytes);
    },
  });
}
