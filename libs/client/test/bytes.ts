import { createHash } from 'node:crypto';
import type { Bytes } from '../src/bytes.ts';

export function fromHex(text: string): Bytes {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export async function collect(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(stream));
}

/** The bytes in pieces of one size: borders of pieces and of segments meet in every way. */
export function inPieces(bytes: Uint8Array, pieceBytes = 40_000): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
    },
  });
}
