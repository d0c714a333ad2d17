import { FORMAT_2, PART_HEADER_BYTES, partedPlaintextSize } from './layout.ts';
import type { Metadata } from './metadata.ts';
import { HEADER_BYTES, plaintextSize, SEGMENT_BYTES, TAG_BYTES } from './size.ts';

/** Bytes of the encrypted payload, from the first of them to before the other. */
export type Place = { startBytes: number; endBytes: number };

/** Where the segments of an encrypted payload are. All numbers begin with 0, but those of parts. */
export class Places {
  /** Of the whole payload. */
  readonly segments: number;
  readonly #segmentsPerPart: number;
  readonly #headerBytes: number;
  readonly #sizeBytes: number;

  /** Of a payload that is as long as its metadata says; of format 1 it is one part without an end. */
  constructor({ format, segmentsPerPart = 0 }: Metadata, encryptedBytes: number) {
    const isInParts = format === FORMAT_2;
    const bytes = isInParts ? partedPlaintextSize(encryptedBytes, segmentsPerPart) : plaintextSize(encryptedBytes);
    this.segments = Math.max(1, Math.ceil((bytes ?? 0) / SEGMENT_BYTES));
    this.#segmentsPerPart = isInParts ? segmentsPerPart : Number.POSITIVE_INFINITY;
    this.#headerBytes = isInParts ? PART_HEADER_BYTES : HEADER_BYTES;
    this.#sizeBytes = encryptedBytes;
  }

  /** The segment that holds a byte of the plaintext; the last one for all that are behind it. */
  segmentAt(plaintextBytes: number): number {
    return Math.min(Math.floor(plaintextBytes / SEGMENT_BYTES), this.segments - 1);
  }

  /** The number of a segment's part, and its own in there. */
  inPart(segment: number): { firstPart: number; firstSegment: number } {
    return {
      firstPart: Math.floor(segment / this.#segmentsPerPart) + 1,
      firstSegment: segment % this.#segmentsPerPart,
    };
  }

  /** What some segments lie in, with the header before the first of them where it begins a part. */
  of(first: number, last: number): Place {
    const { firstSegment } = this.inPart(first);
    const startBytes = this.#startOf(first) - (firstSegment === 0 ? this.#headerBytes : 0);
    const isLast = last === this.segments - 1;
    return { startBytes, endBytes: isLast ? this.#sizeBytes : this.#startOf(last) + SEGMENT_BYTES + TAG_BYTES };
  }

  /** The header that a segment cannot be opened without. */
  headerOf(segment: number): Place {
    const endBytes = this.#startOf(segment - this.inPart(segment).firstSegment);
    return { startBytes: endBytes - this.#headerBytes, endBytes };
  }

  #startOf(segment: number): number {
    return this.inPart(segment).firstPart * this.#headerBytes + segment * (SEGMENT_BYTES + TAG_BYTES);
  }
}
