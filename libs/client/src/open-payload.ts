import { ByteReader } from './byte-reader.ts';
import { type Bytes, equal } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { COMMITMENT_BYTES, deriveCipherKey, deriveKeyCommitment, type Keys, PART_KEY } from './keys.ts';
import { FORMAT_2, PART_HEADER_BYTES } from './layout.ts';
import { withoutPadding } from './padding.ts';
import type { SegmentKey, SegmentParameters } from './segment-key.ts';
import { FORMAT_1, MAX_SEGMENTS, segmentParameters } from './segments.ts';
import { HEADER_BYTES, SEGMENT_BYTES, TAG_BYTES } from './size.ts';

// docs/crypto.md, "Payload" and "Payload in parts".

/** Payload formats above this one are those of a newer Mayfly. */
export const NEWEST_FORMAT = FORMAT_2;

export type Begin = {
  /** The part that the ciphertext begins at, from 1. */
  firstPart?: number | undefined;
  /** The segment of this part, from 0: behind the first one `header` is that of the part. */
  firstSegment?: number | undefined;
  header?: Bytes | undefined;
  /** The ciphertext ends before the payload does. */
  isCut?: boolean | undefined;
};

/**
 * Decrypts a payload of either format, in the memory of a few segments. The stream fails with `tampered` at the first segment
 * that is not the one expected at its place, and at the end unless the last segment was there; with `newer-format` when the format
 * is not known here. What came out before that is authentic, but may be incomplete. With `sizeBytes` so many come out, and
 * `tampered` unless what follows is padding.
 */
export function openPayload(
  { file, payload }: Pick<Keys, 'file' | 'payload'>,
  ciphertext: ReadableStream<Uint8Array>,
  { sizeBytes, ...begin }: Begin & { sizeBytes?: number } = {},
): ReadableStream<Bytes> {
  const bytes = new ByteReader('releasing' in file ? file.releasing(ciphertext) : ciphertext);
  const plaintext = decrypt(bytes, file, payload, begin);
  const segments = sizeBytes === undefined ? plaintext : withoutPadding(plaintext, sizeBytes);
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await segments.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        // Best effort: a source that has failed has nothing left to cancel.
        bytes.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel: (reason) => bytes.cancel(reason),
  });
}

async function* decrypt(
  bytes: ByteReader,
  fileKey: SegmentKey,
  payloadKey: CryptoKey,
  { firstPart = 1, firstSegment = 0, header: known, isCut = false }: Begin,
): AsyncGenerator<Bytes, void> {
  const buffer = new Uint8Array(SEGMENT_BYTES + TAG_BYTES);
  const version = known ? known[0] : await bytes.peek();
  if (Number(version) > NEWEST_FORMAT) throw new MayflyError('newer-format');
  if (version === FORMAT_1 && firstPart === 1) {
    const header = known ?? (await readHeader(bytes, HEADER_BYTES));
    if (header.length !== HEADER_BYTES) throw new MayflyError('tampered'); // the metadata says another format
    const run = { first: firstSegment, limit: MAX_SEGMENTS, mayBeEmpty: true, isCut, header, buffer };
    const isWhole = yield* decryptSegments(bytes, fileKey, run);
    if (!isWhole) throw new MayflyError('tampered');
    return;
  }
  const derive = 'derive' in fileKey ? fileKey.derive : deriveCipherKey;
  const commitment = await deriveKeyCommitment(payloadKey);
  let segmentsPerPart: number | undefined;
  for (let number = firstPart, first = firstSegment; ; number += 1, first = 0) {
    const header = number === firstPart && known ? known : await readHeader(bytes, PART_HEADER_BYTES);
    const says = readPartHeader(header);
    segmentsPerPart ??= says.segmentsPerPart;
    const isExpected = says.number === number && says.segmentsPerPart === segmentsPerPart;
    const isRightKey = equal(says.commitment, commitment); // found before anything is decrypted under another one
    if (says.version !== FORMAT_2 || !isExpected || !isRightKey) throw new MayflyError('tampered');
    const key = await derive(payloadKey, header, PART_KEY);
    const run = { first, limit: segmentsPerPart, mayBeEmpty: number === 1, isCut, buffer };
    if (yield* decryptSegments(bytes, key, run)) return;
  }
}

/** A part's header but for its salt. */
function readPartHeader(header: Bytes) {
  const view = new DataView(header.buffer, header.byteOffset);
  return {
    version: view.getUint8(0),
    segmentsPerPart: view.getUint32(0) & 0xffffff,
    number: view.getUint32(4),
    commitment: header.subarray(-COMMITMENT_BYTES),
  };
}

async function readHeader(bytes: ByteReader, lengthBytes: number): Promise<Bytes> {
  const header = await bytes.fill(new Uint8Array(lengthBytes));
  if (header.length < lengthBytes) throw new MayflyError('tampered');
  return header;
}

type Run = {
  first: number;
  /** So many segments at most are under this key. */
  limit: number;
  mayBeEmpty: boolean;
  isCut: boolean;
  /** For one segment. */
  buffer: Bytes;
  /** Of format 1. */
  header?: Bytes;
};

/** Returns whether the last of them was the last of the ciphertext. */
async function* decryptSegments(
  bytes: ByteReader,
  key: SegmentKey,
  { first, limit, mayBeEmpty, isCut, buffer, header }: Run,
) {
  for (let number = first; number < limit; number += 1) {
    const ciphertext = await bytes.fill(buffer);
    const isLast = (await bytes.peek()) === undefined;
    // An empty segment is what an empty payload consists of; nothing else is written in two ways.
    const isEmpty = ciphertext.length === TAG_BYTES;
    if (isEmpty && (number > 0 || !mayBeEmpty)) throw new MayflyError('tampered');
    const parameters = segmentParameters(number, isLast && !isCut, header);
    const plaintext = await openSegment(key, parameters, ciphertext).catch((cause) => {
      throw new MayflyError('tampered', { cause });
    });
    if (!isEmpty) yield plaintext;
    if (isLast) return true;
  }
  return false;
}

export async function openSegment(key: SegmentKey, parameters: SegmentParameters, ciphertext: Bytes): Promise<Bytes> {
  if ('open' in key) return key.open(parameters, ciphertext);
  return new Uint8Array(await crypto.subtle.decrypt(parameters, key, ciphertext));
}
