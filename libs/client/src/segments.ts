import { type Bytes, concat, randomBytes } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { HEADER_BYTES, SEGMENT_BYTES, TAG_BYTES } from './size.ts';

// The STREAM construction, docs/crypto.md, "Payload". Memory is a few segments, whatever the payload's size.

const VERSION = 1;
const PREFIX_BYTES = HEADER_BYTES - 1;
const MAX_COUNTER = 2 ** 32 - 1;

/** Encrypts a payload. The nonce prefix is a parameter for known-answer tests only. */
export function encryptSegments(
  key: CryptoKey,
  prefix = randomBytes(PREFIX_BYTES),
): TransformStream<Uint8Array, Bytes> {
  const header = concat(Uint8Array.of(VERSION), prefix);
  return cutIntoSegments(SEGMENT_BYTES, {
    start: (controller) => controller.enqueue(header),
    segment: async (plaintext, counter, isLast) =>
      new Uint8Array(await crypto.subtle.encrypt(parameters(header, counter, isLast), key, plaintext)),
  });
}

/**
 * Decrypts a payload. The stream fails with `tampered` at the first segment that is not the one expected at its place,
 * and at the end unless the last segment was there. What came out before that is authentic, but may be incomplete.
 */
export function decryptSegments(key: CryptoKey): TransformStream<Uint8Array, Bytes> {
  let header: Bytes = new Uint8Array(0);
  const segments = cutIntoSegments(SEGMENT_BYTES + TAG_BYTES, {
    start: () => {},
    segment: async (ciphertext, counter, isLast) => {
      if (header.length < HEADER_BYTES || header[0] !== VERSION) throw new MayflyError('tampered');
      // An empty segment is what an empty payload consists of; nothing else is written in two ways.
      if (ciphertext.length === TAG_BYTES && counter > 0) throw new MayflyError('tampered');
      try {
        return new Uint8Array(await crypto.subtle.decrypt(parameters(header, counter, isLast), key, ciphertext));
      } catch (cause) {
        throw new MayflyError('tampered', { cause });
      }
    },
  });
  const withoutHeader = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const missing = HEADER_BYTES - header.length;
      if (missing > 0) header = concat(header, chunk.subarray(0, missing));
      if (chunk.length > missing) controller.enqueue(chunk.subarray(missing));
    },
  });
  // A failure reaches both ends through the pipe itself.
  withoutHeader.readable.pipeTo(segments.writable).catch(() => {});
  return { writable: withoutHeader.writable, readable: segments.readable };
}

type Segments = {
  start(controller: TransformStreamDefaultController<Bytes>): void;
  segment(input: Bytes, counter: number, isLast: boolean): Promise<Bytes>;
};

/** Hands on pieces of one size. A full piece waits for the byte after it, for only that shows that it is not the last. */
function cutIntoSegments(sizeBytes: number, { start, segment }: Segments): TransformStream<Uint8Array, Bytes> {
  const buffer = new Uint8Array(sizeBytes);
  let filled = 0;
  let counter = 0;
  const flush = async (controller: TransformStreamDefaultController<Bytes>, isLast: boolean) => {
    if (counter > MAX_COUNTER) throw new MayflyError('too-large');
    const output = await segment(buffer.subarray(0, filled), counter, isLast);
    counter += 1;
    filled = 0;
    if (output.length > 0) controller.enqueue(output);
  };
  return new TransformStream({
    start,
    async transform(chunk, controller) {
      for (let at = 0; at < chunk.length; ) {
        if (filled === sizeBytes) await flush(controller, false);
        const piece = chunk.subarray(at, at + sizeBytes - filled);
        buffer.set(piece, filled);
        filled += piece.length;
        at += piece.length;
      }
    },
    flush: (controller) => flush(controller, true),
  });
}

function parameters(header: Bytes, counter: number, isLast: boolean) {
  const nonce = concat(header.subarray(1), new Uint8Array(5));
  const view = new DataView(nonce.buffer);
  view.setUint32(PREFIX_BYTES, counter);
  view.setUint8(PREFIX_BYTES + 4, isLast ? 1 : 0);
  return { name: 'AES-GCM', iv: nonce, additionalData: header, tagLength: TAG_BYTES * 8 };
}
