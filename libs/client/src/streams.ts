import type { MayflyError } from './errors.ts';

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
