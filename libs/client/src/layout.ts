import type { UploadParts } from './answers.ts';
import { MayflyError } from './errors.ts';
import { COMMITMENT_BYTES, SALT_BYTES } from './keys.ts';
import { padme } from './padding.ts';
import { SEGMENT_BYTES, TAG_BYTES } from './size.ts';

// Sizes of payload format 2, docs/crypto.md, "Payload in parts" and "Padding".

export const FORMAT_2 = 2;
/** Version, segments of a full part, number of the part; salt; key commitment. */
export const PART_HEADER_BYTES = 8 + SALT_BYTES + COMMITMENT_BYTES;

/** 8 MiB: little is lost with a part, and few of them need much memory. */
const SEGMENTS_PER_PART = 128;

/** A part is held in memory while it is sent: a service that wants longer ones gets none. */
const MOST_PART_BYTES = 256 * 1024 * 1024;

/** How a payload becomes parts. */
export type Layout = {
  segmentsPerPart: number;
  /** Bytes of content and padding. */
  paddedSize: number;
};

/** The layout of so many bytes: padded as far as the service takes it. Throws `too-large` where no number of parts holds them. */
export function layOut(sizeBytes: number, uploadParts: UploadParts): Layout {
  const wantedBytes = Math.max(sizeBytes, Math.min(padme(sizeBytes), partedCapacity(uploadParts)));
  const segmentsPerPart = chooseSegmentsPerPart(wantedBytes, uploadParts);
  const mostBytes = partedLimit(uploadParts, segmentsPerPart);
  return { segmentsPerPart, paddedSize: Math.max(sizeBytes, Math.min(wantedBytes, mostBytes)) };
}

/** As usual, or longer parts where there would be too many. Throws `too-large`. */
export function chooseSegmentsPerPart(sizeBytes: number, uploadParts: UploadParts, usual = SEGMENTS_PER_PART): number {
  const { minBytes, maxParts } = uploadParts;
  const forMinBytes = Math.ceil((minBytes - PART_HEADER_BYTES) / (SEGMENT_BYTES + TAG_BYTES));
  const least = Math.max(forMinBytes, Math.ceil(sizeBytes / SEGMENT_BYTES / maxParts));
  const most = mostSegmentsPerPart(uploadParts);
  if (least > most) {
    const capacity = partedCapacity(uploadParts).toLocaleString('en');
    throw new MayflyError('too-large', { message: `The service takes at most ${capacity} bytes in parts` });
  }
  return Math.min(Math.max(usual, least), most);
}

/** Bytes of plaintext in as many and as long parts as the service takes, whatever it says of the whole. */
export function partedCapacity(uploadParts: UploadParts): number {
  return uploadParts.maxParts * mostSegmentsPerPart(uploadParts) * SEGMENT_BYTES;
}

function mostSegmentsPerPart({ maxBytes }: UploadParts): number {
  return Math.floor((Math.min(maxBytes, MOST_PART_BYTES) - PART_HEADER_BYTES) / (SEGMENT_BYTES + TAG_BYTES));
}

/** The largest plaintext that the service takes in such parts. */
export function partedLimit({ maxParts, maxFileSize }: UploadParts, segmentsPerPart: number): number {
  return Math.min(maxParts * segmentsPerPart * SEGMENT_BYTES, largestPlaintext(maxFileSize, segmentsPerPart));
}

/** Bytes of every encrypted part but the last. */
export function partBytes(segmentsPerPart: number): number {
  return PART_HEADER_BYTES + segmentsPerPart * (SEGMENT_BYTES + TAG_BYTES);
}

export function partCount(plaintextBytes: number, segmentsPerPart: number): number {
  return Math.max(1, Math.ceil(plaintextBytes / (segmentsPerPart * SEGMENT_BYTES)));
}

/** Exact size of the encrypted payload, its padding among the plaintext. */
export function partedSize(plaintextBytes: number, segmentsPerPart: number): number {
  const segments = Math.max(1, Math.ceil(plaintextBytes / SEGMENT_BYTES));
  return plaintextBytes + segments * TAG_BYTES + partCount(plaintextBytes, segmentsPerPart) * PART_HEADER_BYTES;
}

/** Size of the plaintext, or undefined when no payload in such parts has that size. */
export function partedPlaintextSize(encryptedBytes: number, segmentsPerPart: number): number | undefined {
  const plaintextBytes = largestPlaintext(encryptedBytes, segmentsPerPart);
  return partedSize(plaintextBytes, segmentsPerPart) === encryptedBytes ? plaintextBytes : undefined;
}

/** The largest plaintext that is not longer than this when it is encrypted. */
function largestPlaintext(encryptedBytes: number, segmentsPerPart: number): number {
  const fullParts = Math.floor(encryptedBytes / partBytes(segmentsPerPart));
  const restBytes = Math.max(0, encryptedBytes - fullParts * partBytes(segmentsPerPart) - PART_HEADER_BYTES);
  const segments = fullParts * segmentsPerPart + Math.floor(restBytes / (SEGMENT_BYTES + TAG_BYTES));
  return segments * SEGMENT_BYTES + Math.max(0, (restBytes % (SEGMENT_BYTES + TAG_BYTES)) - TAG_BYTES);
}
