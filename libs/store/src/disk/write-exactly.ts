import type { FileHandle } from 'node:fs/promises';
import { NoRoom } from '@mayfly/shared/errors';
import { LengthMismatch } from '../blobs.ts';
import { unavailable } from './faults.ts';
import type { Reservation } from './room.ts';

type Writable = Pick<FileHandle, 'writev'>;

/** What may wait while other bytes are being written; then the sender waits, too. */
const WAITING_BYTES = 1024 * 1024;

/**
 * Writes the body as it comes. While a write runs, chunks gather for the next one: a fast body takes few large writes,
 * and of a slow one nothing is held. Stops at the first byte too many; the body itself is left as it is.
 */
export async function writeExactly(
  file: Writable,
  body: AsyncIterable<Buffer>,
  { sizeBytes, signal, reserved }: { sizeBytes: number; signal: AbortSignal; reserved: Reservation },
) {
  let [received, waitingBytes] = [0, 0];
  let waiting: Buffer[] = [];
  let writing: Promise<void> | undefined;
  let fault: unknown;
  const writeWaiting = async () => {
    try {
      while (waiting.length > 0) {
        const [chunks, wanted] = [waiting, waitingBytes];
        [waiting, waitingBytes] = [[], 0];
        const { bytesWritten } = await file.writev(chunks);
        if (bytesWritten < wanted) throw new NoRoom('the disk took less than it was given');
        reserved.leftBytes -= bytesWritten;
      }
    } catch (error) {
      fault = error;
    } finally {
      writing = undefined;
    }
  };
  try {
    for await (const chunk of body) {
      signal.throwIfAborted();
      received += chunk.length;
      if (received > sizeBytes) throw new LengthMismatch();
      waiting.push(chunk);
      waitingBytes += chunk.length;
      writing ??= writeWaiting();
      if (waitingBytes >= WAITING_BYTES) await writing;
      if (fault) break;
    }
    signal.throwIfAborted();
    if (!fault && received !== sizeBytes) throw new LengthMismatch();
  } finally {
    await writing;
  }
  if (fault) unavailable(fault);
}
