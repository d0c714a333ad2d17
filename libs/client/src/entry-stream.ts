import type { ByteReader } from './byte-reader.ts';
import { type Bytes, equal } from './bytes.ts';
import { crc32 } from './checksum.ts';
import { MayflyError } from './errors.ts';
import { descriptor, LOCAL_TIME_AT, localHeader, TIME_BYTES } from './zip.ts';

// docs/crypto.md, "Archive". A sender is free in nothing but the times of a zip, so a receiver makes each record itself, and compares.

/** Reads what precedes a file. Throws `tampered` when it is something else. */
export async function readLocalHeader(bytes: ByteReader, name: string) {
  await expectRecord(bytes, localHeader(name), [LOCAL_TIME_AT, TIME_BYTES]);
}

/** Reads a record and throws `tampered` unless it is this one, but for a field of so many bytes at a place. */
export async function expectRecord(bytes: ByteReader, expected: Bytes, [at, length]: [number, number] = [0, 0]) {
  const found = await bytes.fill(new Uint8Array(expected.length));
  found.fill(0, at, at + length);
  if (!equal(found, expected)) throw wrongArchive();
}

type Checks = {
  /** Of what precedes these bytes in the file. */
  crc?: number;
  /** Looks at what precedes them in the archive. */
  begin?: () => Promise<void>;
  /** Looks at what follows the entry, given the file's checksum. */
  end: (crc: number) => Promise<void>;
  cancel?: (reason: unknown) => Promise<void>;
};

/** The bytes of a file in an archive, its last ones at least. The stream ends only once `end` has found what follows to be right. */
export class EntryStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #bytes: ByteReader;
  readonly #checks: Checks;
  readonly #size: number;
  #missingBytes: number;
  #crc: number;
  #begun: Promise<void> | undefined;
  #ended: Promise<void> | undefined;

  constructor(bytes: ByteReader, size: number, checks: Checks, missingBytes = size) {
    this.#bytes = bytes;
    this.#size = size;
    this.#checks = checks;
    this.#missingBytes = missingBytes;
    this.#crc = checks.crc ?? 0;
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const piece = await this.#next();
          if (piece) controller.enqueue(piece);
          else controller.close();
        },
        ...(checks.cancel ? { cancel: checks.cancel } : {}),
      },
      { highWaterMark: 0 }, // nothing is read ahead: the reader is shared with what follows
    );
  }

  /** For a receiver that did not want the file, or not all of it. Fails as the stream does. */
  async skipRest() {
    while (await this.#next());
  }

  async #next(): Promise<Uint8Array | undefined> {
    this.#begun ??= this.#checks.begin?.();
    await this.#begun;
    if (this.#missingBytes === 0) {
      this.#ended ??= this.#end();
      await this.#ended;
      return undefined;
    }
    const piece = await this.#bytes.some(this.#missingBytes);
    if (!piece) throw wrongArchive();
    this.#missingBytes -= piece.length;
    this.#crc = crc32(piece, this.#crc);
    return piece;
  }

  async #end() {
    await expectRecord(this.#bytes, descriptor(this.#size, this.#crc));
    await this.#checks.end(this.#crc);
  }
}

export function wrongArchive() {
  return new MayflyError('tampered', { message: 'The archive is not what its description says' });
}
