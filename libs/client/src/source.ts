import { MayflyError } from './errors.ts';
import { withErrors } from './streams.ts';

/** A file to upload. A browser's File is one. */
export type Source = {
  name: string;
  size: number;
  /** MIME type. */
  type?: string;
  /** Milliseconds since 1970. */
  lastModified?: number;
  stream(): ReadableStream<Uint8Array>;
};

/** The bytes of a source. Fails with `bad-source` unless they can be read and are as many as it said. */
export function readSource(source: Source): ReadableStream<Uint8Array> {
  const { name, size } = source;
  let missingBytes = size;
  const check = (isRight: boolean) => {
    if (!isRight) throw new MayflyError('bad-source', { message: `${name} changed while it was read` });
  };
  const bytes = withErrors(
    source.stream(),
    (cause) => new MayflyError('bad-source', { message: `${name} cannot be read`, cause }),
  );
  return bytes.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        missingBytes -= chunk.length;
        check(missingBytes >= 0);
        controller.enqueue(chunk);
      },
      flush: () => check(missingBytes === 0),
    }),
  );
}
