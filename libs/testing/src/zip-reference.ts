import { crc32 } from 'node:zlib';

// docs/crypto.md, "Archive", once more and without a line of the library: what forged archives are made with.

export type ReferenceFile = { name: string; content: Buffer };

/** What may be another number than the rules say. Without any of them the archive is as it should be. */
export type Forgery = {
  version?: number;
  flags?: number;
  method?: number;
  localName?: string;
  localExtra?: Buffer;
  localSize?: number;
  descriptor?: (descriptor: Buffer) => Buffer;
  crc?: number;
  centralName?: string;
  centralCrc?: number;
  centralSize?: number;
  centralExtra?: Buffer;
  centralComment?: string;
  centralStart?: number;
};

const TIME = 0x5d6a1234;

export function local({ name }: ReferenceFile, forgery: Forgery = {}): Buffer {
  const { version = 45, flags = 0x0808, method = 0, localName = name, localSize = 0 } = forgery;
  const { localExtra = Buffer.alloc(0) } = forgery;
  const header = Buffer.alloc(30);
  header.write('PK\u0003\u0004', 'latin1');
  header.writeUInt16LE(version, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(TIME, 10);
  header.writeUInt32LE(localSize, 18);
  header.writeUInt32LE(localSize, 22);
  header.writeUInt16LE(Buffer.byteLength(localName), 26);
  header.writeUInt16LE(localExtra.length, 28);
  return Buffer.concat([header, Buffer.from(localName), localExtra]);
}

/** Header, content and descriptor. */
export function entry(file: ReferenceFile, forgery: Forgery = {}): Buffer {
  const { content } = file;
  const { crc = crc32(content), descriptor = (bytes) => bytes } = forgery;
  const after = Buffer.alloc(16);
  after.write('PK\u0007\u0008', 'latin1');
  after.writeUInt32LE(crc, 4);
  after.writeUInt32LE(content.length, 8);
  after.writeUInt32LE(content.length, 12);
  return Buffer.concat([local(file, forgery), content, descriptor(after)]);
}

export function central({ name, content }: ReferenceFile, start: number, forgery: Forgery = {}): Buffer {
  const { version = 45, flags = 0x0808, method = 0, crc = crc32(content), centralComment = '' } = forgery;
  const { centralName = name, centralCrc = crc, centralSize = content.length, centralStart = start } = forgery;
  const { centralExtra = Buffer.alloc(0) } = forgery;
  const header = Buffer.alloc(46);
  header.write('PK\u0001\u0002', 'latin1');
  header.writeUInt16LE(0x032d, 4);
  header.writeUInt16LE(version, 6);
  header.writeUInt16LE(flags, 8);
  header.writeUInt16LE(method, 10);
  header.writeUInt32LE(TIME, 12);
  header.writeUInt32LE(centralCrc, 16);
  header.writeUInt32LE(centralSize, 20);
  header.writeUInt32LE(centralSize, 24);
  header.writeUInt16LE(Buffer.byteLength(centralName), 28);
  header.writeUInt16LE(centralExtra.length, 30);
  header.writeUInt16LE(centralComment.length, 32);
  header.writeUInt16LE(0o100664, 40);
  header.writeUInt32LE(centralStart, 42);
  return Buffer.concat([header, Buffer.from(centralName), centralExtra, Buffer.from(centralComment)]);
}

export function end(count: number, directoryBytes: number, start: number, comment = ''): Buffer {
  const record = Buffer.alloc(22);
  record.write('PK\u0005\u0006', 'latin1');
  record.writeUInt16LE(count, 8);
  record.writeUInt16LE(count, 10);
  record.writeUInt32LE(directoryBytes, 12);
  record.writeUInt32LE(start, 16);
  record.writeUInt16LE(comment.length, 20);
  return Buffer.concat([record, Buffer.from(comment)]);
}

/** An archive that is right in itself, whatever the metadata says of it; the forgery is the last file's. */
export function archive(files: ReferenceFile[], forgery: Forgery = {}): Buffer {
  const entries: Buffer[] = [];
  const directory: Buffer[] = [];
  let start = 0;
  for (const [index, file] of files.entries()) {
    const forged = index === files.length - 1 ? forgery : {};
    const bytes = entry(file, forged);
    entries.push(bytes);
    directory.push(central(file, start, forged));
    start += bytes.length;
  }
  const directoryBytes = Buffer.concat(directory);
  return Buffer.concat([...entries, directoryBytes, end(files.length, directoryBytes.length, start)]);
}
