import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** Reads of 1 MiB cost less than half the CPU of Node's default 64 KiB; below that a read costs more than it spares. */
const LARGEST_READ_BYTES = 1024 * 1024;
const SMALLEST_READ_BYTES = 64 * 1024;
/** What all payloads that are open in this process share. A slow client holds two reads: one waits, one is being sent. */
const SHARED_BYTES = 32 * 1024 * 1024;
const READS_HELD = 2;

let openPayloads = 0;

/**
 * The first `sizeBytes` bytes of a file; fails when it ends before. Reads are large while few payloads are open, and smaller the
 * more there are: a thousand clients that stall must not hold a thousand times what a fast one needs. The file is closed
 * with the stream.
 */
export function payloadStream(file: FileHandle, sizeBytes: number): Readable {
  openPayloads += 1;
  let leftBytes = sizeBytes;
  return new Readable({
    highWaterMark: SMALLEST_READ_BYTES, // one read is ahead of the client, whatever its size
    read() {
      const wanted = Math.min(leftBytes, readBytes(openPayloads));
      if (wanted === 0) {
        this.push(null);
        return;
      }
      file.read(Buffer.allocUnsafeSlow(wanted), 0, wanted).then(
        ({ bytesRead, buffer }) => {
          if (bytesRead === 0) return this.destroy(new Error('a blob ends before its size'));
          leftBytes -= bytesRead;
          this.push(bytesRead === wanted ? buffer : buffer.subarray(0, bytesRead));
        },
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      openPayloads -= 1;
      file.close().then(
        () => done(error),
        (closing: Error) => done(error ?? closing),
      );
    },
  });
}

/** The size of the next read when so many payloads are open. */
export function readBytes(open: number): number {
  const share = Math.floor(SHARED_BYTES / (READS_HELD * Math.max(open, 1)));
  return Math.min(Math.max(share, SMALLEST_READ_BYTES), LARGEST_READ_BYTES);
}
