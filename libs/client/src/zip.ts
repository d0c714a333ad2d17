import { type Bytes, concat, utf8 } from './bytes.ts';

// docs/crypto.md, "Archive": every byte of a zip that is none of a file's. Numbers are little-endian.

/** What is as large as this is told in 64 bits. */
const ZIP64_FROM = 0xffffffff;
const VERSION = 45;
const MADE_BY_UNIX = (3 << 8) | VERSION;
/** The names are UTF-8; sizes and checksum follow the data. */
const FLAGS = 0x0808;
/** A plain file, -rw-rw-r--. */
const ATTRIBUTES = 0o100664 * 2 ** 16;
const MAX_NAME_BYTES = 0xffff;
/** Within what a zip can hold in every time zone. */
const EARLIEST = Date.UTC(1980, 0, 2);
const LATEST = Date.UTC(2107, 11, 30);

/** Where the two headers of an entry have its time; in the central one its checksum follows. */
export const LOCAL_TIME_AT = 10;
export const CENTRAL_TIME_AT = 12;
export const TIME_BYTES = 4;
export const CHECKSUM_BYTES = 4;

export type ZipFile = { name: string; size: number };
export type ZipEntry = ZipFile & {
  crc: number;
  /** What `dosTime` returns. */
  time: number;
};

/** Exact bytes of the archive of these files. */
export function archiveSize(files: ZipFile[]): number {
  const central = centralRecords(files.map((file) => ({ ...file, crc: 0, time: 0 })));
  const directoryBytes = central.reduce((sum, record) => sum + record.length, 0);
  return entryStart(files, files.length) + directoryBytes + endRecords(files, directoryBytes).length;
}

/** Where the entry with this index begins; with the number of files, where the directory does. */
export function entryStart(files: ZipFile[], index: number): number {
  return files.slice(0, index).reduce((sum, file) => sum + entryBytes(file), 0);
}

/** Header, content and descriptor. */
export function entryBytes({ name, size }: ZipFile): number {
  return localHeader(name).length + size + descriptor(size, 0).length;
}

export function hasZipName({ name }: ZipFile): boolean {
  return utf8(name).length <= MAX_NAME_BYTES;
}

/** What precedes a file. */
export function localHeader(name: string, time = 0): Bytes {
  const nameBytes = utf8(name);
  const fixed = record(
    [4, 0x04034b50],
    [2, VERSION],
    [2, FLAGS],
    [2, 0], // stored
    [4, time],
    [4, 0], // checksum and both sizes are in the descriptor
    [4, 0],
    [4, 0],
    [2, nameBytes.length],
    [2, 0],
  );
  return concat(fixed, nameBytes);
}

/** What follows a file. */
export function descriptor(size: number, crc: number): Bytes {
  const width = size >= ZIP64_FROM ? 8 : 4;
  return record([4, 0x08074b50], [4, crc], [width, size], [width, size]);
}

/** The directory, one record for each file. */
export function centralRecords(entries: ZipEntry[]): Bytes[] {
  let start = 0;
  return entries.map((entry) => {
    const central = centralRecord(entry, start);
    start += entryBytes(entry);
    return central;
  });
}

function centralRecord({ name, size, crc, time }: ZipEntry, start: number): Bytes {
  const nameBytes = utf8(name);
  const extra = zip64Field(size, start);
  const fixed = record(
    [4, 0x02014b50],
    [2, MADE_BY_UNIX],
    [2, VERSION],
    [2, FLAGS],
    [2, 0],
    [4, time],
    [4, crc],
    [4, Math.min(size, ZIP64_FROM)],
    [4, Math.min(size, ZIP64_FROM)],
    [2, nameBytes.length],
    [2, extra.length],
    [2, 0],
    [2, 0],
    [2, 0],
    [4, ATTRIBUTES],
    [4, Math.min(start, ZIP64_FROM)],
  );
  return concat(fixed, nameBytes, extra);
}

/** The start is there beside a size even when it needs no 64 bits. */
function zip64Field(size: number, start: number): Bytes {
  if (size >= ZIP64_FROM) return record([2, 1], [2, 24], [8, size], [8, size], [8, start]);
  return start >= ZIP64_FROM ? record([2, 1], [2, 8], [8, start]) : record();
}

/** What follows a directory of so many bytes. */
export function endRecords(files: ZipFile[], directoryBytes: number): Bytes {
  const start = entryStart(files, files.length);
  const count = files.length;
  const zip64 =
    start < ZIP64_FROM
      ? record()
      : record(
          [4, 0x06064b50],
          [8, 44],
          [2, MADE_BY_UNIX],
          [2, VERSION],
          [4, 0],
          [4, 0],
          [8, count],
          [8, count],
          [8, directoryBytes],
          [8, start],
          [4, 0x07064b50],
          [4, 0],
          [8, start + directoryBytes],
          [4, 1],
        );
  const end = record(
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, Math.min(count, 0xffff)],
    [2, Math.min(count, 0xffff)],
    [4, directoryBytes],
    [4, Math.min(start, ZIP64_FROM)],
    [2, 0],
  );
  return concat(zip64, end);
}

/** Milliseconds since 1970 as a zip has them: local time, in steps of two seconds, from 1980 to 2107. */
export function dosTime(timeMs: number): number {
  const date = new Date(Math.min(Math.max(timeMs, EARLIEST), LATEST));
  const day = ((date.getFullYear() - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate();
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return ((day << 16) | time) >>> 0;
}

type Width = 2 | 4 | 8;

function record(...fields: [Width, number][]): Bytes {
  const bytes = new Uint8Array(fields.reduce((sum, [width]) => sum + width, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [width, value] of fields) {
    if (width === 2) view.setUint16(at, value, true);
    else if (width === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += width;
  }
  return bytes;
}
