import { ByteReader } from './byte-reader.ts';
import type { Content } from './content.ts';
import { EntryStream, readLocalHeader, wrongArchive } from './entry-stream.ts';
import { MayflyError } from './errors.ts';
import type { FileEntry, Metadata } from './metadata.ts';
import { archiveSize, entryBytes, entryStart, localHeader } from './zip.ts';

// docs/crypto.md, "Archive": where things are follows from the metadata.

/** Where in the content a byte of a file is; of its size, where it ends. Throws `invalid-request` when there is none. */
export function contentOffset(metadata: Metadata, index: number, bytes = 0): number {
  const { name, size } = fileAt(metadata, index);
  if (!(bytes >= 0 && bytes <= size)) throw notThere();
  return metadata.archive ? entryStart(metadata.files, index) + localHeader(name).length + bytes : bytes;
}

/**
 * One file of an upload, by its place in the metadata: nothing else of an archive is read. Fails as the content does, and with
 * `tampered` when the entry is not what the metadata says: it ends only after its checksum was right. The archive's
 * directory is not looked at.
 */
export function readEntry(content: Content, index: number): ReadableStream<Uint8Array> {
  const { metadata, size } = content;
  const file = fileAt(metadata, index);
  if (!metadata.archive) return content.read(0, size);
  if (size !== archiveSize(metadata.files)) throw wrongArchive();
  const start = entryStart(metadata.files, index);
  const bytes = new ByteReader(content.read(start, start + entryBytes(file)));
  const checks = {
    begin: () => readLocalHeader(bytes, file.name),
    end: async () => {},
    cancel: (reason: unknown) => bytes.cancel(reason),
  };
  return new EntryStream(bytes, file.size, checks).stream;
}

function fileAt({ files }: Metadata, index: number): FileEntry {
  const file = files[index];
  if (!file) throw notThere();
  return file;
}

function notThere() {
  return new MayflyError('invalid-request', { message: 'The upload has no such file' });
}
