import { type Bytes, concat, randomBytes } from './bytes.ts';
import { MayflyError } from './errors.ts';
import type { SegmentParameters } from './segment-key.ts';
import { HEADER_BYTES, SEGMENT_BYTES, TAG_BYTES } from './size.ts';

// The STREAM construction, docs/crypto.md, "Payload", and payload format 1. Memory is a few segments, whatever the payload's size.

export const FORMAT_1 = 1;
export const PREFIX_BYTES = HEADER_BYTES - 1;
export const MAX_SEGMENTS = 2 ** 32;

/** Encrypts a payload. The nonce prefix is a parameter for known-answer tests only. */
export function encryptSegments(
  key: CryptoKey,
  prefix = randomBytes(PREFIX_BYTES),
): TransformStream<Uint8Array, Bytes> {
  const header = concat(Uint8Array.of(FORMAT_1), prefix);
  const buffer = new Uint8Array(SEGMENT_BYTES);
  let filled = 0;
  let number = 0;
  const flush = async (controller: TransformStreamDefaultController<Bytes>, isLast: boolean) => {
    if (number === MAX_SEGMENTS) throw new MayflyError('too-large');
    const parameters = segmentParameters(number, isLast, header);
    controller.enqueue(new Uint8Array(await crypto.subtle.encrypt(parameters, key, buffer.subarray(0, filled))));
    number += 1;
    filled = 0;
  };
  return new TransformStream({
    start: (controller) => controller.enqueue(header),
    async transform(chunk, controller) {
      for (let at = 0; at < chunk.length; ) {
        // A full segment waits for the byte after it, for only that shows that it is not the last.
        if (filled === SEGMENT_BYTES) await flush(controller, false);
        const piece = chunk.subarray(at, at + SEGMENT_BYTES - filled);
        buffer.set(piece, filled);
        filled += piece.length;
        at += piece.length;
      }
    },
    flush: (controller) => flush(controller, true),
  });
}

/** What AES-GCM needs for one segment. Format 1 has a header, whose prefix begins the nonce; a part of format 2 has none. */
export function segmentParameters(number: number, isLast: boolean, header?: Bytes): SegmentParameters {
  const nonce = new Uint8Array(PREFIX_BYTES + 5);
  if (header) nonce.set(header.subarray(1));
  const view = new DataView(nonce.buffer);
  view.setUint32(PREFIX_BYTES, number);
  view.setUint8(PREFIX_BYTES + 4, isLast ? 1 : 0);
  const parameters = { name: 'AES-GCM', iv: nonce, tagLength: TAG_BYTES * 8 };
  return header ? { ...parameters, additionalData: header } : parameters;
}
