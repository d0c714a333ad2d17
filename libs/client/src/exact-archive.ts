import type { Metadata } from './metadata.ts';
import { fromPieces } from './streams.ts';
import { unpack } from './unpack.ts';

/**
 * The same payload, for whoever keeps an archive as the one file that it is. Fails with `tampered` before its end when the archive is
 * not exactly what the metadata says, as `unpack` does.
 */
export function exactArchive(metadata: Metadata, payload: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  if (!metadata.archive) return payload;
  const passed: Uint8Array[] = [];
  const look = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      passed.push(piece);
      controller.enqueue(piece);
    },
  });
  const stopped = new AbortController();
  const looked = payload.pipeThrough(look, { signal: stopped.signal });
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    for await (const { stream } of unpack(metadata, looked)) {
      const reader = stream.getReader();
      while (!(await reader.read()).done) yield* passed.splice(0);
    }
    yield* passed.splice(0);
  }
  return fromPieces(pieces(), (reason) => stopped.abort(reason));
}
