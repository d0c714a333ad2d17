import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Unavailable } from '@mayfly/shared/errors';
import type { ByteRange } from '../blobs.ts';

/** Reads of 1 MiB cost less than half the CPU of Node's default 64 KiB. */
const LARGEST_READ_BYTES = 1024 * 1024;
/**
 * Payloads that are sent at once share the largest read, and each gets this at least: all that they have read is written in one turn of
 * the event loop, for which every other request waits. Decision shared-read-memory.
 */
const LARGEST_BESIDE_OTHERS_BYTES = 256 * 1024;
/** For everybody once the shared bytes are held. A thousand clients that stall hold 32 MB more. */
const SMALLEST_READ_BYTES = 32 * 1024;
/** What all payloads that are open in this process share. */
const SHARED_BYTES = 32 * 1024 * 1024;
/** A read takes so much of what is left of them: nobody takes all, and there is always something left for who comes next. */
const SHARE_OF_FREE = 1 / 16;
/** What was read ahead for a client that takes nothing for so long is dropped, and read again when it goes on. */
const STALL_MS = 1_000;

/** Buffers that no payload uses: kept for the next one, since a new one of 1 MiB costs more than reading into it. */
const SPARES_KEPT = 8;

/** What has been read and not been taken by any client yet. */
let heldBytes = 0;
/** Payloads that are being sent. */
let sending = 0;
const spares: Buffer[] = [];

/**
 * The first `sizeBytes` bytes of a file, or a range of them; fails with Unavailable when it cannot be read, or ends before. Reads are large while little is held, and smaller the more
 * there is: a thousand clients that stall must not hold a thousand times what a fast one needs. The file is closed with the
 * stream.
 */
export class PayloadStream extends Readable {
  readonly #file: FileHandle;
  readonly #endBytes: number;
  #leftBytes: number;
  /** This payload's part of what is held. */
  #heldBytes = 0;
  #isSending = false;
  /** What has been read while the piece before it is being sent; null at the end, undefined when nothing has. */
  #ahead: Buffer | null | undefined;

  constructor(file: FileHandle, sizeBytes: number, { first, last }: ByteRange = { first: 0, last: sizeBytes - 1 }) {
    super({ highWaterMark: SMALLEST_READ_BYTES }); // one read is ahead of the client, whatever its size
    this.#file = file;
    this.#endBytes = last + 1;
    this.#leftBytes = last + 1 - first;
  }

  /**
   * As every stream's, but through buffers that are used again, by this and other payloads, when the destination has taken their bytes:
   * a new one for every read would keep the garbage collector busier than everything else in a large download.
   */
  override pipe<T extends NodeJS.WritableStream>(destination: T, { end = true } = {}): T {
    if (!this.destroyed) {
      this.#isSending = true;
      sending += 1;
    }
    this.#send(destination, end).catch((error: Error) => this.destroy(error));
    return destination;
  }

  /** What of it is in memory and was not taken yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  override _read() {
    this.#next().then(
      (chunk) => {
        if (chunk) this.#release(chunk); // from here on the stream counts it
        this.push(chunk);
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void) {
    if (this.#isSending) sending -= 1;
    this.#hold(-this.#heldBytes);
    this.#ahead = undefined;
    this.#file.close().then(
      () => done(error),
      (closing: Error) => done(error ?? closing),
    );
  }

  async #send(destination: NodeJS.WritableStream, isEnded: boolean) {
    let chunk = await this.#next(spares);
    while (chunk && !this.destroyed) {
      const stalled = setTimeout(() => this.#dropAhead(), STALL_MS);
      const [isTaken] = await Promise.all([taken(destination, chunk), this.#readAhead()]);
      clearTimeout(stalled);
      if (!isTaken)
        this.destroy(); // the destination has gone: no fault of the payload
      else this.#release(chunk, spares);
      if (this.destroyed) return;
      chunk = this.#ahead === undefined ? await this.#next(spares) : this.#ahead;
      this.#ahead = undefined;
    }
    if (this.destroyed) return;
    if (isEnded) destination.end();
    this.push(null);
    this.resume(); // to its end, which closes it
  }

  async #readAhead() {
    this.#ahead = await this.#next(spares);
  }

  #dropAhead() {
    if (!this.#ahead) return;
    this.#leftBytes += this.#ahead.length;
    this.#release(this.#ahead, spares);
    this.#ahead = undefined;
  }

  /** The next bytes, in one of the given buffers when they fit, or null when there are none. */
  async #next(buffers: Buffer[] = []): Promise<Buffer | null> {
    const wanted = Math.min(this.#leftBytes, readBytes(heldBytes), shareOfTurn());
    if (wanted === 0) return null;
    const used = buffers.pop();
    const fits = used && used.length >= wanted && used.length <= 2 * wanted;
    const buffer = fits ? used : Buffer.allocUnsafeSlow(wanted);
    this.#hold(buffer.length);
    const position = this.#endBytes - this.#leftBytes;
    const { bytesRead } = await this.#file.read(buffer, 0, wanted, position).catch((cause: unknown) => {
      throw new Unavailable('a blob cannot be read', { cause });
    });
    if (bytesRead === 0) throw new Unavailable('a blob ends before its size');
    this.#leftBytes -= bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  /** Its bytes are no longer needed; the buffer waits among the given ones for its next use. */
  #release({ buffer }: Buffer, buffers?: Buffer[]) {
    if (this.destroyed) return; // all that it held was given back at once
    this.#hold(-buffer.byteLength);
    if (buffers && buffers.length < SPARES_KEPT) buffers.push(Buffer.from(buffer));
  }

  #hold(bytes: number) {
    this.#heldBytes += bytes;
    heldBytes += bytes;
  }
}

/** Whether the destination has handed the bytes on. It may never say: then it has been destroyed, and the payload with it. */
function taken(destination: NodeJS.WritableStream, chunk: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    destination.write(chunk, (error) => resolve(!error));
  });
}

/** The most that a read takes while so many payloads are being sent. */
const shareOfTurn = () => Math.max(Math.floor(LARGEST_READ_BYTES / Math.max(sending, 1)), LARGEST_BESIDE_OTHERS_BYTES);

/** The size of the next read when so many bytes are held. */
export function readBytes(held: number): number {
  const share = Math.floor((SHARED_BYTES - held) * SHARE_OF_FREE);
  return Math.min(Math.max(share, SMALLEST_READ_BYTES), LARGEST_READ_BYTES);
}
