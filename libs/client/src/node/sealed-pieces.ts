import type { ByteFeed } from '../byte-feed.ts';
import { type Bytes, concat, randomBytes } from '../bytes.ts';
import { MayflyError } from '../errors.ts';
import { PART_KEY } from '../keys.ts';
import { newPartHeader } from '../parts.ts';
import type { NativeKey, SegmentKey } from '../segment-key.ts';
import { FORMAT_1, MAX_SEGMENTS, PREFIX_BYTES, segmentParameters } from '../segments.ts';
import { SEGMENT_BYTES, TAG_BYTES } from '../size.ts';
import { deriveNodeKey } from './segment-key.ts';

// Encrypted payloads and parts in four buffers, whatever their size. A chunk is good until the second one after it is asked for.

/** Segments in a chunk: a system call for each of them would cost more than encrypting it. */
const AT_ONCE = 4;

type SealSegment = (segment: Bytes, number: number, isLast: boolean, into: Bytes) => void;

export const newChunks = () => {
  const plain = () => new Uint8Array(AT_ONCE * SEGMENT_BYTES);
  const sealed = () => new Uint8Array(AT_ONCE * (SEGMENT_BYTES + TAG_BYTES));
  return { plain: [plain(), plain()] as const, sealed: [sealed(), sealed()] as const };
};
export type Chunks = ReturnType<typeof newChunks>;

/** A payload of format 1. The nonce prefix is a parameter for known-answer tests only. */
export async function* sealPayload(
  key: SegmentKey,
  feed: ByteFeed,
  prefix = randomBytes(PREFIX_BYTES),
): AsyncGenerator<Bytes, void> {
  const header = concat(Uint8Array.of(FORMAT_1), prefix);
  const { seal } = native(key);
  yield header;
  yield* sealSegments(feed, newChunks(), (segment, number, isLast, into) => {
    if (number === MAX_SEGMENTS) throw new MayflyError('too-large');
    seal(segmentParameters(number, isLast, header), segment, into);
  });
}

/** A part of format 2, whose content is what the feed has. Every call has a key of its own, as `encryptPart` has. */
export async function* sealPart(
  payloadKey: CryptoKey,
  { number, isLast }: { number: number; isLast: boolean },
  feed: ByteFeed,
  segmentsPerPart: number,
  chunks: Chunks,
  random = randomBytes,
): AsyncGenerator<Bytes, void> {
  const header = await newPartHeader(payloadKey, number, segmentsPerPart, random);
  const { seal } = await deriveNodeKey(payloadKey, header, PART_KEY);
  yield header;
  yield* sealSegments(feed, chunks, (segment, index, isEnd, into) => {
    seal(segmentParameters(index, isLast && isEnd), segment, into);
  });
}

/** One chunk is read ahead: only that shows which segment is the last. */
async function* sealSegments(
  feed: ByteFeed,
  { plain, sealed }: Chunks,
  seal: SealSegment,
): AsyncGenerator<Bytes, void> {
  try {
    let chunk = await feed.fill(plain[0]);
    for (let turn = 0, number = 0, isEnd = false; !isEnd; turn = 1 - turn) {
      const ahead = await feed.fill(plain[turn === 0 ? 1 : 0]);
      isEnd = ahead.length === 0;
      const into = sealed[turn === 0 ? 0 : 1];
      let at = 0;
      for (let start = 0; start < chunk.length || at === 0; start += SEGMENT_BYTES, number += 1) {
        const segment = chunk.subarray(start, start + SEGMENT_BYTES);
        const isLast = isEnd && start + SEGMENT_BYTES >= chunk.length;
        const end = at + segment.length + TAG_BYTES;
        seal(segment, number, isLast, into.subarray(at, end));
        at = end;
      }
      yield into.subarray(0, at);
      chunk = ahead;
    }
  } finally {
    // Best effort: a source that has failed has nothing left to cancel.
    await feed.cancel().catch(() => {});
  }
}

function native(key: SegmentKey): NativeKey {
  if ('seal' in key) return key;
  throw new Error('this key was derived for WebCrypto');
}
