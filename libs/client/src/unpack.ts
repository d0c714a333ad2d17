import { type Bytes, concat, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import type { FileEntry, Metadata } from './metadata.ts';

// docs/crypto.md, "Archive". The metadata says which entries there are and how long each is, so the archive is read in
// one pass, which a zip alone does not allow.

const LOCAL_HEADER_BYTES = 30;
const LOCAL_HEADER = 0x04034b50;
const DATA_DESCRIPTOR = 0x08074b50;
/** From this size on the descriptor after an entry has 64-bit fields. */
const ZIP64_FROM = 0xffffffff;

export type UnpackedFile = FileEntry & { stream: ReadableStream<Uint8Array> };

/**
 * The files of a payload, one after the other: read or cancel a file's stream before asking for the next one. Fails as
 * the payload does, and with `tampered` when the archive is not what the metadata says. A name is the sender's choice:
 * it may lead out of a folder.
 */
export async function* unpack(metadata: Metadata, payload: ReadableStream<Uint8Array>): AsyncGenerator<UnpackedFile> {
  const [only] = metadata.files;
  if (!metadata.archive) {
    if (only) yield { ...only, stream: payload };
    return;
  }
  const bytes = new ByteReader(payload);
  try {
    for (const file of metadata.files) {
      await readLocalHeader(bytes, file.name);
      const entry = new EntryStream(bytes, file.size);
      yield { ...file, stream: entry.stream };
      await entry.skipRest();
      await readDescriptor(bytes, file.size);
    }
    // The payload is complete only when its last segment has been verified.
    while (await bytes.some(Number.MAX_SAFE_INTEGER));
  } finally {
    await bytes.cancel();
  }
}

async function readLocalHeader(bytes: ByteReader, name: string) {
  const header = view(await bytes.exactly(LOCAL_HEADER_BYTES));
  const method = header.getUint16(8, true);
  const nameBytes = await bytes.exactly(header.getUint16(26, true));
  await bytes.exactly(header.getUint16(28, true));
  const isExpected = header.getUint32(0, true) === LOCAL_HEADER && method === 0;
  if (!isExpected || !equal(nameBytes, utf8(name))) throw wrongArchive();
}

async function readDescriptor(bytes: ByteReader, sizeBytes: number) {
  const descriptor = view(await bytes.exactly(sizeBytes >= ZIP64_FROM ? 24 : 16));
  const size = sizeBytes >= ZIP64_FROM ? Number(descriptor.getBigUint64(16, true)) : descriptor.getUint32(12, true);
  if (descriptor.getUint32(0, true) !== DATA_DESCRIPTOR || size !== sizeBytes) throw wrongArchive();
}

class EntryStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #bytes: ByteReader;
  #missingBytes: number;

  constructor(bytes: ByteReader, sizeBytes: number) {
    this.#bytes = bytes;
    this.#missingBytes = sizeBytes;
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (this.#missingBytes > 0) controller.enqueue(await this.#next());
          if (this.#missingBytes === 0) controller.close();
        },
      },
      { highWaterMark: 0 }, // nothing is read ahead: the reader is shared with what follows
    );
  }

  async #next(): Promise<Uint8Array> {
    const piece = await this.#bytes.some(this.#missingBytes);
    if (!piece) throw wrongArchive();
    this.#missingBytes -= piece.length;
    return piece;
  }

  /** For a receiver that did not want the file. */
  async skipRest() {
    while (this.#missingBytes > 0) await this.#next();
  }
}

class ByteReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** What comes next, at least one byte and at most so many; undefined at the end. */
  async some(limitBytes: number): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#reader.read();
      if (done) return undefined;
      this.#rest = value;
    }
    const piece = this.#rest.subarray(0, limitBytes);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  async exactly(lengthBytes: number): Promise<Bytes> {
    const pieces: Uint8Array[] = [];
    for (let missing = lengthBytes; missing > 0; ) {
      const piece = await this.some(missing);
      if (!piece) throw wrongArchive();
      pieces.push(piece);
      missing -= piece.length;
    }
    return concat(...pieces);
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

function equal(one: Bytes, other: Bytes): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

function view(bytes: Bytes): DataView {
  return new DataView(bytes.buffer);
}

function wrongArchive() {
  return new MayflyError('tampered', { message: 'The archive is not what its description says' });
}
