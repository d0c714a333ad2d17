import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import {
  type Content,
  contentOffset,
  type MayflyClient,
  type MayflyError,
  type OnProgress,
  readEntry,
  unpack,
} from '@mayfly/client';
import type { Begin, KeptLease } from './begin.ts';
import type { PartialFolder, Position } from './partial-folder.ts';
import type { ArrivingFile } from './write-files.ts';
import { doneBytes, pathOf, sizeOf } from './written.ts';

export type Receiving = {
  signal: AbortSignal;
  onProgress: OnProgress;
  onTrouble: (failure: MayflyError) => void;
};

export type Leased = Omit<Begin, 'lease'> & { lease: KeptLease };

/** All files of an upload, from some byte of one of them on. */
export async function* receiveAll(
  client: MayflyClient,
  { link, metadata, lease }: Leased,
  folder: PartialFolder,
  { index, bytes }: Position,
  how: Receiving,
): AsyncGenerator<ArrivingFile, void> {
  const isBegun = index > 0 || bytes > 0;
  const startBytes = isBegun ? contentOffset(metadata, index, bytes) : 0;
  const download = await client.download(link, { ...lease, ...how, startBytes });
  const from = isBegun ? { from: { index, bytes, written: readWritten(folder, index, bytes) } } : {};
  let next = index;
  for await (const { stream } of unpack(metadata, download.payload, from)) {
    yield { index: next, stream };
    next += 1;
  }
}

/** Some files of an archive, from some byte of one of them on, and nothing of the others. */
export async function* receiveSome(
  client: MayflyClient,
  { link, metadata, lease }: Leased,
  folder: PartialFolder,
  indexes: number[],
  start: Position,
  { signal, onProgress, onTrouble }: Receiving,
): AsyncGenerator<ArrivingFile, void> {
  const content = await client.openContent(link, { ...lease, signal, onTrouble });
  const totalBytes = sizeOf(metadata.files, indexes);
  let passedBytes = doneBytes(metadata.files, indexes, start);
  for (const index of indexes.slice(indexes.indexOf(start.index))) {
    const skippedBytes = index === start.index ? start.bytes : 0;
    const isBegun = skippedBytes > 0;
    const entry = readEntry(isBegun ? withWritten(content, folder, start) : content, index);
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        passedBytes += piece.length;
        onProgress(passedBytes, totalBytes);
        controller.enqueue(piece);
      },
    });
    yield { index, stream: (isBegun ? withoutStart(entry, skippedBytes) : entry).pipeThrough(counted) };
  }
}

/** The same content, but what is written of a file already is read from there: all of an entry is needed to check it. */
function withWritten(content: Content, folder: PartialFolder, { index, bytes }: Position): Content {
  const from = contentOffset(content.metadata, index);
  async function* read(startBytes: number, endBytes: number) {
    yield* content.read(startBytes, from);
    yield* readWritten(folder, index, bytes);
    yield* content.read(from + bytes, endBytes);
  }
  return { ...content, read: (startBytes, endBytes) => ReadableStream.from(read(startBytes, endBytes)) };
}

function withoutStart(stream: ReadableStream<Uint8Array>, startBytes: number): ReadableStream<Uint8Array> {
  let missingBytes = startBytes;
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        const rest = piece.subarray(Math.min(missingBytes, piece.length));
        missingBytes -= piece.length - rest.length;
        if (rest.length > 0) controller.enqueue(rest);
      },
    }),
  );
}

function readWritten(folder: PartialFolder, index: number, bytes: number): ReadableStream<Uint8Array> {
  if (bytes === 0) return new Blob([]).stream();
  const written = createReadStream(pathOf(folder, index), { end: bytes - 1 });
  return Readable.toWeb(written) as ReadableStream<Uint8Array>; // typed for Node only
}
