import { concat } from './bytes.ts';
import { crc32 } from './checksum.ts';
import { readSource, type Source } from './source.ts';
import { fromPieces } from './streams.ts';
import { centralRecords, descriptor, dosTime, endRecords, localHeader, type ZipEntry } from './zip.ts';

// docs/crypto.md, "Archive": a zip without compression, its entries in the order of the metadata.

/** One after the other, so that one file at a time is open. */
export function writeArchive(sources: Source[]): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    const entries: ZipEntry[] = [];
    for (const source of sources) {
      const { name, size, lastModified = Date.now() } = source;
      const time = dosTime(lastModified);
      yield localHeader(name, time);
      let crc = 0;
      reader = readSource(source).getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        crc = crc32(piece.value, crc);
        yield piece.value;
      }
      yield descriptor(size, crc);
      entries.push({ name, size, crc, time });
    }
    const directory = concat(...centralRecords(entries));
    yield directory;
    yield endRecords(sources, directory.length);
  }
  return fromPieces(pieces(), (reason) => reader?.cancel(reason));
}

/** The same sources, with a number added to every name that was there before: `a.txt`, `a (2).txt`. */
export function withUniqueNames(sources: Source[]): Source[] {
  const taken = new Set<string>();
  return sources.map((source) => {
    // A zip's names are UTF-8 and neither begin nor end with a slash.
    const name =
      source.name
        .toWellFormed()
        .replaceAll('\\', '/')
        .replace(/^\/+|\/+$/g, '') || 'file';
    let unique = name;
    for (let number = 2; taken.has(unique.toLowerCase()); number += 1) {
      unique = name.replace(/((?<=[^/])\.[^./]+)?$/, (ending) => ` (${number})${ending}`);
    }
    taken.add(unique.toLowerCase());
    const { size, type = '', lastModified = Date.now() } = source; // a File's fields are not its own: no spreading
    const plain: Source = { name: unique, size, type, lastModified, stream: () => source.stream() };
    if (source.slice) plain.slice = source.slice.bind(source);
    return plain;
  });
}
