import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** Reads of 1 MiB cost less than half the CPU of Node's default 64 KiB. */
const LARGEST_READ_BYTES = 1024 * 1024;
/** What a recipient who takes nothing holds in memory is about two of these. */
const SMALLEST_READ_BYTES = 64 * 1024;
/** A read is this part of what the recipient has taken: only one who takes much gets large ones. */
const SHARE = 16;

/**
 * The first `sizeBytes` bytes of a file, which it closes at its end or when destroyed. Fails when the file ends before.
 * What fits one read is one; of more, reads grow from 64 KiB to 1 MiB as bytes are taken.
 */
export function readFile(file: FileHandle, sizeBytes: number): Readable {
  let position = 0;
  return new Readable({
    highWaterMark: SMALLEST_READ_BYTES,
    read() {
      const leftBytes = sizeBytes - position;
      if (leftBytes === 0) {
        this.push(null);
        return;
      }
      const grown = Math.min(LARGEST_READ_BYTES, Math.max(SMALLEST_READ_BYTES, Math.floor(position / SHARE)));
      const length = sizeBytes <= LARGEST_READ_BYTES ? leftBytes : Math.min(leftBytes, grown);
      file.read(Buffer.allocUnsafeSlow(length), 0, length, position).then(
        ({ bytesRead, buffer }) => {
          if (bytesRead === 0) return this.destroy(new Error('a blob ends before its size'));
          position += bytesRead;
          this.push(bytesRead === length ? buffer : buffer.subarray(0, bytesRead));
        },
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      file.close().then(
        () => done(error),
        (closing: Error) => done(error ?? closing),
      );
    },
  });
}
