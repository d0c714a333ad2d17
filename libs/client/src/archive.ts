import { makeZip, predictLength } from 'client-zip';
import { readSource, type Source } from './source.ts';

// docs/crypto.md, "Archive": a zip without compression, its entries in the order of the metadata.

/** The earliest date that a zip can hold. */
const EARLIEST = Date.UTC(1980, 0, 2);

/** Exact size of the archive, known before the first byte is read. */
export function archiveSize(sources: Source[]): number {
  return Number(predictLength(sources.map(({ name, size }) => ({ name, size }))));
}

/** One after the other, so that one file at a time is open. */
export function writeArchive(sources: Source[]): ReadableStream<Uint8Array> {
  function* entries() {
    for (const source of sources) {
      const lastModified = new Date(Math.max(EARLIEST, source.lastModified ?? Date.now()));
      yield { name: source.name, lastModified, input: readSource(source) };
    }
  }
  return makeZip(entries());
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
    return { name: unique, size, type, lastModified, stream: () => source.stream() };
  });
}
