import type { ByteFeed } from '../byte-feed.ts';
import { ByteReader } from '../byte-reader.ts';
import type { Bytes } from '../bytes.ts';
import { MayflyError } from '../errors.ts';
import type { Payload } from '../payload.ts';
import type { Source } from '../source.ts';
import { releasing } from './release.ts';

/** A payload from its beginning. */
export function feedOf({ stream, only }: Pick<Payload, 'stream' | 'only'>): ByteFeed {
  return (only && feedFrom(only, 0)) ?? new ByteReader(releasing(stream()));
}

/** A source from a byte on, if it can be read so. Fails with `bad-source` unless its bytes are as many as it said. */
export function feedFrom(source: Source, startBytes: number): ByteFeed | undefined {
  const { name, size } = source;
  const feed = source.slice?.(startBytes).feed?.();
  let missingBytes = size - startBytes;
  return (
    feed && {
      async fill(buffer) {
        const filled = await feed.fill(buffer).catch((cause) => {
          throw new MayflyError('bad-source', { message: `${name} cannot be read`, cause });
        });
        missingBytes -= filled.length;
        const isShort = filled.length < buffer.length && missingBytes > 0;
        if (isShort || missingBytes < 0) {
          throw new MayflyError('bad-source', { message: `${name} changed while it was read` });
        }
        return filled;
      },
      cancel: (reason) => feed.cancel(reason),
    }
  );
}

/** What is in memory. */
export function feedOfBytes(bytes: Bytes): ByteFeed {
  let at = 0;
  return {
    async fill(buffer) {
      const piece = bytes.subarray(at, at + buffer.length);
      buffer.set(piece);
      at += piece.length;
      return buffer.subarray(0, piece.length);
    },
    async cancel() {},
  };
}

type Piece = { startBytes: number; endBytes: number; contentBytes: number };

/** A piece of content and zeros after it. Where the content ends in it, it is asked whether it does. */
export function paddedFeed(
  open: (startBytes: number) => ByteFeed | undefined,
  { startBytes, endBytes, contentBytes }: Piece,
): ByteFeed {
  const feed = startBytes < contentBytes ? open(startBytes) : undefined;
  let at = startBytes;
  return {
    async fill(buffer) {
      const wanted = buffer.subarray(0, Math.min(buffer.length, endBytes - at));
      const content = wanted.subarray(0, Math.max(0, contentBytes - at));
      if (content.length > 0) {
        await feed?.fill(content);
        if (at + content.length === contentBytes) await feed?.fill(new Uint8Array(1));
      }
      wanted.fill(0, content.length);
      at += wanted.length;
      return wanted;
    },
    cancel: async (reason) => feed?.cancel(reason),
  };
}
