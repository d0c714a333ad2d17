import { release } from '@mayfly/client/node';

/** A write for each segment costs more than its decryption. */
const BATCH_BYTES = 1024 * 1024;

/** The same bytes in larger pieces, each in the memory of the one before. None waits for longer than `waitMs` while others come. */
export async function* batched(stream: ReadableStream<Uint8Array>, waitMs: number): AsyncGenerator<Uint8Array, void> {
  const batch = new Uint8Array(BATCH_BYTES);
  let filled = 0;
  let sinceMs = performance.now();
  try {
    for await (const piece of stream) {
      for (let at = 0; at < piece.length; ) {
        const some = piece.subarray(at, at + BATCH_BYTES - filled);
        batch.set(some, filled);
        filled += some.length;
        at += some.length;
        if (filled < BATCH_BYTES && performance.now() - sinceMs < waitMs) continue;
        yield batch.subarray(0, filled);
        filled = 0;
        sinceMs = performance.now();
      }
      release(piece);
    }
  } finally {
    if (filled > 0) yield batch.subarray(0, filled); // what came before a failure is good
  }
}
