import { ByteReader } from './byte-reader.ts';
import { type Bytes, concat, randomBytes } from './bytes.ts';
import { deriveKeyCommitment, derivePartKey, SALT_BYTES } from './keys.ts';
import { FORMAT_2 } from './layout.ts';
import { segmentParameters } from './segments.ts';
import { SEGMENT_BYTES } from './size.ts';

// Payload format 2, docs/crypto.md, "Payload in parts".

export type PlainPart = {
  /** From 1. */
  number: number;
  /** As long as `segmentsPerPart` says, unless it is the last. */
  plaintext: Bytes;
  isLast: boolean;
};

/**
 * Encrypts one part: 56 bytes of header, then the segments. Every call has a key of its own, so a part may be encrypted again
 * whatever has become of its content. Another source of randomness is for tests only.
 */
export async function encryptPart(
  payloadKey: CryptoKey,
  { number, plaintext, isLast }: PlainPart,
  segmentsPerPart: number,
  random = randomBytes,
): Promise<Bytes> {
  const fullBytes = segmentsPerPart * SEGMENT_BYTES;
  if (plaintext.length > fullBytes || (plaintext.length < fullBytes && !isLast)) throw new Error('not a part');
  const header = concat(new Uint8Array(8), random(SALT_BYTES), await deriveKeyCommitment(payloadKey));
  const view = new DataView(header.buffer);
  view.setUint32(0, segmentsPerPart);
  view.setUint8(0, FORMAT_2);
  view.setUint32(4, number);
  const key = await derivePartKey(payloadKey, header);
  const count = Math.max(1, Math.ceil(plaintext.length / SEGMENT_BYTES));
  const segments = Array.from({ length: count }, async (_, index) => {
    const parameters = segmentParameters(index, isLast && index === count - 1);
    const segment = plaintext.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
    return new Uint8Array(await crypto.subtle.encrypt(parameters, key, segment));
  });
  return concat(header, ...(await Promise.all(segments)));
}

/**
 * Content and padding, or what follows of both from some part on, cut for `encryptPart`. `padTo` is asked once, with the size of the
 * content. Holds one part at a time.
 */
export async function* cutIntoParts(
  content: ReadableStream<Uint8Array>,
  segmentsPerPart: number,
  { firstPart = 1, padTo = (sizeBytes: number) => sizeBytes } = {},
): AsyncGenerator<PlainPart, void> {
  const bytes = new ByteReader(content);
  const fullBytes = segmentsPerPart * SEGMENT_BYTES;
  let endBytes: number | undefined;
  try {
    for (let number = firstPart, isLast = false; !isLast; number += 1) {
      const startBytes = (number - 1) * fullBytes;
      const plaintext = new Uint8Array(fullBytes); // what is not filled of it is padding
      const { length } = await bytes.fill(plaintext);
      if ((await bytes.peek()) === undefined) endBytes ??= padTo(startBytes + length);
      isLast = endBytes !== undefined && endBytes <= startBytes + fullBytes;
      yield { number, plaintext: isLast ? plaintext.subarray(0, (endBytes ?? 0) - startBytes) : plaintext, isLast };
    }
  } finally {
    // Best effort: a source that has failed has nothing left to cancel.
    await bytes.cancel().catch(() => {});
  }
}
