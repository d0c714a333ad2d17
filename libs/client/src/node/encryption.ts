import type { ByteFeed } from '../byte-feed.ts';
import type { Bytes } from '../bytes.ts';
import type { Encryption, PartBody } from '../encryption.ts';
import { type Layout, partedSize } from '../layout.ts';
import { SEGMENT_BYTES } from '../size.ts';
import { feedFrom, feedOf, feedOfBytes, paddedFeed } from './feeds.ts';
import { releasing } from './release.ts';
import { type Chunks, newChunks, sealPart, sealPayload } from './sealed-pieces.ts';
import { deriveNodeKey } from './segment-key.ts';

type PartContent = { number: number; isLast: boolean; sizeBytes: number; open(): ByteFeed; release(): void };

/** For a transport that has done with a chunk when it reads the second one after it: their memory is used again. */
export const nodeEncryption: Encryption = {
  derive: deriveNodeKey,
  releasing,
  seal: (key, payload) => reused(sealPayload(key, feedOf(payload))),
  reads: (source) => feedFrom(source, 0) !== undefined,
  streamParts(key, segmentsPerPart) {
    const stream = streamer(key, segmentsPerPart);
    return ({ plaintext, ...part }) =>
      stream({ ...part, sizeBytes: plaintext.length, open: () => feedOfBytes(plaintext) });
  },
  streamFrom({ only, size }, key, layout) {
    if (!only || !feedFrom(only, 0)) return undefined;
    const stream = streamer(key, layout.segmentsPerPart);
    return (number) => {
      const piece = pieceOf(number, layout);
      const open = () => paddedFeed((from) => feedFrom(only, from), { ...piece, contentBytes: size });
      const sizeBytes = piece.endBytes - piece.startBytes;
      return stream({ number, isLast: piece.endBytes === layout.paddedSize, sizeBytes, open, release() {} });
    };
  },
};

function pieceOf(number: number, { segmentsPerPart, paddedSize }: Layout) {
  const fullBytes = segmentsPerPart * SEGMENT_BYTES;
  return { startBytes: (number - 1) * fullBytes, endBytes: Math.min(paddedSize, number * fullBytes) };
}

function streamer(key: CryptoKey, segmentsPerPart: number) {
  const spare: Chunks[] = [];
  return (part: PartContent): PartBody => {
    const sizeBytes = partedSize(part.sizeBytes, segmentsPerPart);
    let chunks: Chunks | undefined;
    const body = () => {
      chunks = spare.pop() ?? newChunks(); // not those of a try that has failed: they may be on their way
      return { stream: reused(sealPart(key, part, part.open(), segmentsPerPart, chunks)), sizeBytes };
    };
    const done = () => {
      if (chunks) spare.push(chunks);
      part.release();
    };
    return { number: part.number, sizeBytes, body, done };
  };
}

/** A stream of chunks, none of which is made before it is asked for. */
function reused(chunks: AsyncGenerator<Bytes, void>): ReadableStream<Uint8Array> {
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { value, done } = await chunks.next();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({ pull, cancel: () => void chunks.return() }, { highWaterMark: 0 });
}
