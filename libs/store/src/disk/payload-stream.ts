import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** Reads of 1 MiB cost less than half the CPU of Node's default 64 KiB; below that a read costs more than it spares. */
const LARGEST_READ_BYTES = 1024 * 1024;
const SMALLEST_READ_BYTES = 64 * 1024;
/** What all payloads that are open in this process share. A slow client holds two reads: one waits, one is being sent. */
const SHARED_BYTES = 32 * 1024 * 1024;
const READS_HELD = 2;

/** Buffers that no payload uses: kept for the next one, since a new one of 1 MiB costs more than reading into it. */
const SPARES_KEPT = 8;

let openPayloads = 0;
const spares: Buffer[] = [];

/**
 * The first `sizeBytes` bytes of a file; fails when it ends before. Reads are large while few payloads are open, and smaller the
 * more there are: a thousand clients that stall must not hold a thousand times what a fast one needs. The file is closed
 * with the stream.
 */
export class PayloadStream extends Readable {
  readonly #file: FileHandle;
  #leftBytes: number;

  constructor(file: FileHandle, sizeBytes: number) {
    super({ highWaterMark: SMALLEST_READ_BYTES }); // one read is ahead of the client, whatever its size
    openPayloads += 1;
    this.#file = file;
    this.#leftBytes = sizeBytes;
  }

  /**
   * As every stream's, but through buffers that are used again, by this and other payloads, when the destination has taken their bytes:
   * a new one for every read would keep the garbage collector busier than everything else in a large download.
   */
  override pipe<T extends NodeJS.WritableStream>(destination: T, { end = true } = {}): T {
    this.#send(destination, end).catch((error: Error) => this.destroy(error));
    return destination;
  }

  override _read() {
    this.#next().then(
      (chunk) => this.push(chunk),
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void) {
    openPayloads -= 1;
    this.#file.close().then(
      () => done(error),
      (closing: Error) => done(error ?? closing),
    );
  }

  async #send(destination: NodeJS.WritableStream, isEnded: boolean) {
    let chunk = await this.#next(spares);
    while (chunk && !this.destroyed) {
      const [ahead, isTaken] = await Promise.all([this.#next(spares), taken(destination, chunk)]);
      if (!isTaken)
        this.destroy(); // the destination has gone: no fault of the payload
      else if (spares.length < SPARES_KEPT) spares.push(Buffer.from(chunk.buffer));
      chunk = ahead;
    }
    if (this.destroyed) return;
    if (isEnded) destination.end();
    this.push(null);
    this.resume(); // to its end, which closes it
  }

  /** The next bytes, in one of the given buffers when they fit, or null when there are none. */
  async #next(buffers: Buffer[] = []): Promise<Buffer | null> {
    const wanted = Math.min(this.#leftBytes, readBytes(openPayloads));
    if (wanted === 0) return null;
    const used = buffers.pop();
    const buffer = used && used.length >= wanted ? used : Buffer.allocUnsafeSlow(wanted);
    const { bytesRead } = await this.#file.read(buffer, 0, wanted);
    if (bytesRead === 0) throw new Error('a blob ends before its size');
    this.#leftBytes -= bytesRead;
    return buffer.subarray(0, bytesRead);
  }
}

/** Whether the destination has handed the bytes on. It may never say: then it has been destroyed, and the payload with it. */
function taken(destination: NodeJS.WritableStream, chunk: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    destination.write(chunk, (error) => resolve(!error));
  });
}

/** The size of the next read when so many payloads are open. */
export function readBytes(open: number): number {
  const share = Math.floor(SHARED_BYTES / (READS_HELD * Math.max(open, 1)));
  return Math.min(Math.max(share, SMALLEST_READ_BYTES), LARGEST_READ_BYTES);
}
