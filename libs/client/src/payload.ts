import { withUniqueNames, writeArchive } from './archive.ts';
import { utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import type { FileEntry, Metadata } from './metadata.ts';
import { readSource, type Source } from './source.ts';
import { withoutStart } from './streams.ts';
import { archiveSize, hasZipName } from './zip.ts';

export type Payload = {
  metadata: Metadata;
  size: number;
  /** Reads the files, from a byte of the payload on. */
  stream(startBytes?: number): ReadableStream<Uint8Array>;
  /** The only file, which is the payload. */
  only?: Source;
};

/**
 * The contract takes 256 KiB of JSON with metadata in base64: of these so much is left when it is padded, encrypted, and told how
 * the payload is made.
 */
const MAX_DESCRIPTION_BYTES = 196_000;

/** What is uploaded for some files: the file itself, or an archive of them. Throws `too-many-files`. */
export function buildPayload(files: Source[]): Payload {
  const sources = withUniqueNames(files);
  const [first, ...others] = sources;
  if (!first) throw new MayflyError('invalid-request', { message: 'There is no file to send' });
  const entries = sources.map(({ name, size, type = '' }) => ({ name, type, size }));
  assertDescribable(entries);
  if (others.length === 0) {
    return {
      metadata: { files: entries },
      size: first.size,
      stream: (startBytes) => readSource(first, startBytes),
      only: first,
    };
  }
  if (!sources.every(hasZipName)) throw new MayflyError('invalid-request', { message: 'A name is too long' });
  const size = archiveSize(sources);
  return {
    metadata: { files: entries, archive: 'zip', size },
    size,
    stream: (startBytes = 0) => withoutStart(writeArchive(sources), startBytes),
  };
}

function assertDescribable(entries: FileEntry[]) {
  const listBytes = utf8(JSON.stringify(entries)).length;
  if (listBytes <= MAX_DESCRIPTION_BYTES) return;
  const [count, bytes, most] = [entries.length, listBytes, MAX_DESCRIPTION_BYTES].map((n) => n.toLocaleString('en'));
  const message = `The list of these ${count} files has ${bytes} bytes, more than the ${most} of one upload; send an archive of them`;
  throw new MayflyError('too-many-files', { message });
}

export type OnProgress = (doneBytes: number, totalBytes: number) => void;

/** Counts what passes, after what was there before. */
export function withProgress(onProgress: OnProgress | undefined, totalBytes: number, startBytes = 0) {
  let doneBytes = startBytes;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      doneBytes += chunk.length;
      onProgress?.(doneBytes, totalBytes);
    },
  });
}
