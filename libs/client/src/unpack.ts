import { ByteReader } from './byte-reader.ts';
import { crc32 } from './checksum.ts';
import { contentOffset } from './entries.ts';
import { EntryStream, expectRecord, readLocalHeader, wrongArchive } from './entry-stream.ts';
import { MayflyError } from './errors.ts';
import type { FileEntry, Metadata } from './metadata.ts';
import { withErrors } from './streams.ts';
import { CENTRAL_TIME_AT, CHECKSUM_BYTES, centralRecords, endRecords, TIME_BYTES } from './zip.ts';

// docs/crypto.md, "Archive". The metadata says which entries there are and how long each is, so the archive is read in
// one pass, which a zip alone does not allow.

export type UnpackedFile = FileEntry & { stream: ReadableStream<Uint8Array> };

/** Where a payload begins that is not read from its start, see `contentOffset`. */
export type UnpackFrom = {
  index: number;
  /** What there is already of the file with this index. Its stream goes on after them. */
  bytes: number;
  /** These bytes, read once for the checksum. */
  written: ReadableStream<Uint8Array>;
};

/**
 * The files of a payload, one after the other: read or cancel a file's stream before asking for the next one. Fails as
 * the payload does, and with `tampered` when the archive is not what the metadata says: a file's stream ends only after
 * its checksum was right, and the last one's after the directory and the end of the payload were, too. A name is the
 * sender's choice: it may lead out of a folder. With `from` it begins with that file, and the checksums of those before
 * it are not compared with the directory's.
 */
export async function* unpack(
  metadata: Metadata,
  payload: ReadableStream<Uint8Array>,
  { from }: { from?: UnpackFrom } = {},
): AsyncGenerator<UnpackedFile, void> {
  const { files, archive } = metadata;
  if (from) contentOffset(metadata, from.index, from.bytes);
  const [only] = files;
  if (!archive) {
    await from?.written.cancel(); // it has no checksum
    if (only) yield { ...only, stream: payload };
    return;
  }
  const bytes = new ByteReader(payload);
  const sums: number[] = [];
  try {
    for (const [index, file] of files.entries()) {
      const isBegun = index === from?.index;
      if (from && index < from.index) continue;
      if (!isBegun) await readLocalHeader(bytes, file.name);
      const crc = isBegun ? await checksumOf(from) : 0;
      const isLast = index === files.length - 1;
      const end = async (sum: number) => {
        sums[index] = sum;
        if (isLast) await readDirectory(bytes, files, sums);
      };
      const entry = new EntryStream(bytes, file.size, { crc, end }, file.size - (isBegun ? from.bytes : 0));
      yield { ...file, stream: entry.stream };
      await entry.skipRest();
    }
  } finally {
    await bytes.cancel();
  }
}

/** Throws `bad-source` when it is not as long as was said. */
async function checksumOf({ bytes, written }: UnpackFrom): Promise<number> {
  const cannotRead = (cause: unknown) =>
    new MayflyError('bad-source', { message: 'What was written before is gone', cause });
  const reader = withErrors(written, cannotRead).getReader();
  let crc = 0;
  let readBytes = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    crc = crc32(piece.value, crc);
    readBytes += piece.value.length;
  }
  if (readBytes !== bytes) throw new MayflyError('bad-source', { message: 'What was written before has changed' });
  return crc;
}

/** Reads all that follows the last entry, and nothing may follow that. Checksums that are not known are taken as they are. */
async function readDirectory(bytes: ByteReader, files: FileEntry[], sums: (number | undefined)[]) {
  const central = centralRecords(files.map((file, index) => ({ ...file, crc: sums[index] ?? 0, time: 0 })));
  for (const [index, record] of central.entries()) {
    const freeBytes = sums[index] === undefined ? TIME_BYTES + CHECKSUM_BYTES : TIME_BYTES;
    await expectRecord(bytes, record, [CENTRAL_TIME_AT, freeBytes]);
  }
  const directoryBytes = central.reduce((sum, record) => sum + record.length, 0);
  await expectRecord(bytes, endRecords(files, directoryBytes));
  if ((await bytes.peek()) !== undefined) throw wrongArchive();
}
