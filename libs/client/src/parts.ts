import { ByteReader } from './byte-reader.ts';
import { type Bytes, concat, randomBytes } from './bytes.ts';
import { deriveCipherKey, deriveKeyCommitment, PART_KEY, SALT_BYTES } from './keys.ts';
import { FORMAT_2 } from './layout.ts';
import { segmentParameters } from './segments.ts';
import { SEGMENT_BYTES, TAG_BYTES } from './size.ts';

// Payload format 2, docs/crypto.md, "Payload in parts".

/** Segments that are encrypted side by side: as many as keep the threads of WebCrypto busy. */
const AT_ONCE = 16;

export type PlainPart = {
  /** From 1. */
  number: number;
  /** As long as `segmentsPerPart` says, unless it is the last. */
  plaintext: Bytes;
  isLast: boolean;
  /** Nobody needs the plaintext any more: its memory is used for another part. */
  release(): void;
};

/**
 * Encrypts one part: 56 bytes of header, then the segments. Every call has a key of its own, so a part may be encrypted again
 * whatever has become of its content. Another source of randomness is for tests only. `into`: where it may be written, if that is as
 * long as a full part.
 */
export async function encryptPart(
  payloadKey: CryptoKey,
  { number, plaintext, isLast }: Omit<PlainPart, 'release'>,
  segmentsPerPart: number,
  random = randomBytes,
  into?: Bytes,
): Promise<Bytes> {
  const fullBytes = segmentsPerPart * SEGMENT_BYTES;
  if (plaintext.length > fullBytes || (plaintext.length < fullBytes && !isLast)) throw new Error('not a part');
  const header = await newPartHeader(payloadKey, number, segmentsPerPart, random);
  const key = await deriveCipherKey(payloadKey, header, PART_KEY);
  const count = Math.max(1, Math.ceil(plaintext.length / SEGMENT_BYTES));
  const length = header.length + plaintext.length + count * TAG_BYTES;
  const body = into && into.length >= length ? into.subarray(0, length) : new Uint8Array(length);
  body.set(header);
  const encrypt = async (index: number) => {
    const parameters = segmentParameters(index, isLast && index === count - 1);
    const segment = plaintext.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
    const encrypted = await crypto.subtle.encrypt(parameters, key, segment);
    body.set(new Uint8Array(encrypted), header.length + index * (SEGMENT_BYTES + TAG_BYTES));
  };
  for (let first = 0; first < count; first += AT_ONCE) {
    const last = Math.min(first + AT_ONCE, count);
    await Promise.all(Array.from({ length: last - first }, (_, place) => encrypt(first + place)));
  }
  return body;
}

/** The header of one encryption of a part: no two are the same. */
export async function newPartHeader(
  payloadKey: CryptoKey,
  number: number,
  segmentsPerPart: number,
  random = randomBytes,
): Promise<Bytes> {
  const header = concat(new Uint8Array(8), random(SALT_BYTES), await deriveKeyCommitment(payloadKey));
  const view = new DataView(header.buffer);
  view.setUint32(0, segmentsPerPart);
  view.setUint8(0, FORMAT_2);
  view.setUint32(4, number);
  return header;
}

/**
 * Content and padding, or what follows of both from some part on, cut for `encryptPart`. `padTo` is asked once, with the size of the
 * content.
 */
export async function* cutIntoParts(
  content: ReadableStream<Uint8Array>,
  segmentsPerPart: number,
  { firstPart = 1, padTo = (sizeBytes: number) => sizeBytes } = {},
): AsyncGenerator<PlainPart, void> {
  const bytes = new ByteReader(content);
  const fullBytes = segmentsPerPart * SEGMENT_BYTES;
  const spare: Bytes[] = [];
  let endBytes: number | undefined;
  try {
    for (let number = firstPart, isLast = false; !isLast; number += 1) {
      const startBytes = (number - 1) * fullBytes;
      const buffer = spare.pop() ?? new Uint8Array(fullBytes);
      const { length } = await bytes.fill(buffer);
      buffer.fill(0, length); // the padding
      if ((await bytes.peek()) === undefined) endBytes ??= padTo(startBytes + length);
      isLast = endBytes !== undefined && endBytes <= startBytes + fullBytes;
      const plaintext = isLast ? buffer.subarray(0, (endBytes ?? 0) - startBytes) : buffer;
      yield { number, plaintext, isLast, release: () => void spare.push(buffer) };
    }
  } finally {
    // Best effort: a source that has failed has nothing left to cancel.
    await bytes.cancel().catch(() => {});
  }
}
