import type { MayflyError } from './errors.ts';

/** A request body that is too large to hold. */
export type StreamBody = {
  stream: ReadableStream<Uint8Array>;
  /** Exact: it becomes the Content-Length. */
  sizeBytes: number;
};

/** The same stream; when it breaks, it does so with an error of this library. */
export function withErrors(
  stream: ReadableStream<Uint8Array>,
  translate: (error: unknown) => MayflyError,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        throw translate(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The same stream without its first bytes, which are read all the same. */
export function withoutStart(stream: ReadableStream<Uint8Array>, startBytes: number): ReadableStream<Uint8Array> {
  let missingBytes = startBytes;
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const skippedBytes = Math.min(missingBytes, chunk.length);
        missingBytes -= skippedBytes;
        if (skippedBytes < chunk.length) controller.enqueue(chunk.subarray(skippedBytes));
      },
    }),
  );
}

/** A stream of what a generator makes, when it is asked for it. */
export function fromPieces(
  pieces: AsyncGenerator<Uint8Array, void>,
  cancel: (reason: unknown) => void | Promise<void>,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel,
  });
}
