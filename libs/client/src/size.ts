// docs/crypto.md, "Payload".

/** Version byte and nonce prefix. */
export const HEADER_BYTES = 8;
/** Plaintext of every segment but the last. */
export const SEGMENT_BYTES = 64 * 1024;
export const TAG_BYTES = 16;

/** Exact size of the encrypted payload: the Content-Length of an upload, known before the first byte is read. */
export function encryptedSize(sizeBytes: number): number {
  const segments = Math.max(1, Math.ceil(sizeBytes / SEGMENT_BYTES));
  return HEADER_BYTES + sizeBytes + segments * TAG_BYTES;
}

/** Size of the plaintext, or undefined when no encrypted payload has that size. */
export function plaintextSize(encryptedBytes: number): number | undefined {
  const segments = Math.ceil((encryptedBytes - HEADER_BYTES) / (SEGMENT_BYTES + TAG_BYTES));
  const sizeBytes = encryptedBytes - HEADER_BYTES - segments * TAG_BYTES;
  return sizeBytes >= 0 && encryptedSize(sizeBytes) === encryptedBytes ? sizeBytes : undefined;
}
