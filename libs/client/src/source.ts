import type { ByteFeed } from './byte-feed.ts';
import { MayflyError } from './errors.ts';
import { withErrors, withoutStart } from './streams.ts';

/** A file to upload. A browser's File is one. */
export type Source = {
  name: string;
  size: number;
  /** MIME type. */
  type?: string;
  /** Milliseconds since 1970. */
  lastModified?: number;
  stream(): ReadableStream<Uint8Array>;
  /** What follows from a byte on; without it, what comes before is read, too, when an upload is taken up again. */
  slice?(startBytes: number): {
    stream(): ReadableStream<Uint8Array>;
    /** The same, into memory of the reader's. */
    feed?(): ByteFeed;
  };
};

/** The bytes of a source, from one on. Fails with `bad-source` unless they can be read and are as many as it said. */
export function readSource(source: Source, startBytes = 0): ReadableStream<Uint8Array> {
  const { name, size } = source;
  if (startBytes > 0 && !source.slice) return withoutStart(readSource(source), startBytes);
  let missingBytes = size - startBytes;
  const check = (isRight: boolean) => {
    if (!isRight) throw new MayflyError('bad-source', { message: `${name} changed while it was read` });
  };
  const bytes = withErrors(
    (startBytes > 0 && source.slice ? source.slice(startBytes) : source).stream(),
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
