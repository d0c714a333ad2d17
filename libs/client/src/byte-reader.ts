import type { Bytes } from './bytes.ts';

/** Reads a stream by numbers of bytes instead of by the chunks that it comes in. */
export class ByteReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** What comes next, at least one byte and at most so many; undefined at the end. */
  async some(limitBytes: number): Promise<Uint8Array | undefined> {
    if ((await this.peek()) === undefined) return undefined;
    const piece = this.#rest.subarray(0, limitBytes);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  /** The next byte, which stays where it is; undefined at the end. */
  async peek(): Promise<number | undefined> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#reader.read();
      if (done) return undefined;
      this.#rest = value;
    }
    return this.#rest[0];
  }

  /** Reads into a buffer. Returns what was filled of it, which is less than the whole only at the end of the stream. */
  async fill(buffer: Bytes): Promise<Bytes> {
    let filled = 0;
    while (filled < buffer.length) {
      const piece = await this.some(buffer.length - filled);
      if (!piece) break;
      buffer.set(piece, filled);
      filled += piece.length;
    }
    return buffer.subarray(0, filled);
  }

  cancel(reason?: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }
}
