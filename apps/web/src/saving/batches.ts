/** A write for each segment would cost more than its decryption. */
const BATCH_BYTES = 1024 * 1024;

/** A stream that hands on its bytes in large pieces, each a buffer of its own: a new one unless one is given back. */
export function batches(write: (bytes: Uint8Array<ArrayBuffer>) => Promise<unknown>, empty: ArrayBuffer[] = []) {
  const next = () => new Uint8Array(empty.pop() ?? new ArrayBuffer(BATCH_BYTES));
  let batch = next();
  let filled = 0;
  const flush = async () => {
    const full = batch.subarray(0, filled);
    batch = next(); // the old one may be on its way to somewhere else
    filled = 0;
    if (full.length > 0) await write(full);
  };
  return new WritableStream<Uint8Array>({
    async write(chunk) {
      for (let at = 0; at < chunk.length; ) {
        const piece = chunk.subarray(at, at + BATCH_BYTES - filled);
        batch.set(piece, filled);
        filled += piece.length;
        at += piece.length;
        if (filled === BATCH_BYTES) await flush();
      }
    },
    close: flush,
  });
}
