import type { DownloadLeases } from './answers.ts';
import type { Bytes } from './bytes.ts';
import type { Context } from './context.ts';
import { MayflyError } from './errors.ts';
import { newLease } from './lease.ts';
import type { LeasedOptions } from './leased-payload.ts';
import type { Link } from './link.ts';
import type { Metadata } from './metadata.ts';
import { openLease } from './open-lease.ts';
import type { GivenPassword } from './protection.ts';
import { SegmentReader } from './segment-reader.ts';
import { SEGMENT_BYTES } from './size.ts';

/** Segments that are asked for first, and at most, in one request: whoever looks into many places reads little of each. */
const FIRST_RUN = 4;
const LONGEST_RUN = 64;

export type ContentOptions = LeasedOptions &
  GivenPassword & {
    /** As the service's config has it: without it there are no ranges, and `invalid-request` is thrown. */
    downloadLeases?: DownloadLeases | undefined;
    /** One that its caller keeps; by default a new one. */
    lease?: string | undefined;
    /** The lease was granted before and is only continued: `download-ended` where it has ended. */
    isContinued?: boolean | undefined;
  };

/** The content of an upload, to be read in pieces under one lease: one download, however much of it is read. */
export type Content = {
  metadata: Metadata;
  /** Of the decrypted content, an archive's own bytes included. */
  size: number;
  /**
   * Decrypted, verified bytes from startBytes to before endBytes; only the segments that hold them travel, and those that were read lately are
   * kept. It goes on by itself when a connection breaks. Several at once are fine; each holds some 5 MiB at most.
   */
  read(startBytes: number, endBytes: number): ReadableStream<Uint8Array>;
  /** Ends the lease, best effort. */
  end(): Promise<void>;
};

/** Spends nothing: the first byte that is read begins the download. */
export async function openContent(
  context: Context,
  link: Link,
  { lease = newLease(), downloadLeases, ...options }: ContentOptions,
): Promise<Content> {
  if (!downloadLeases)
    throw new MayflyError('invalid-request', { message: 'This service has no ranges of a download' });
  const opened = await openLease(context, link, { ...options, lease });
  const { metadata, size, payload } = opened;
  const segments = new SegmentReader(context, link, opened, options);
  return {
    metadata,
    size,
    read(startBytes, endBytes) {
      const isRange = [startBytes, endBytes].every(Number.isSafeInteger) && startBytes >= 0 && endBytes >= startBytes;
      if (!isRange || endBytes > size) {
        throw new MayflyError('invalid-request', {
          message: `There are no bytes ${startBytes} to ${endBytes} of ${size}`,
        });
      }
      return readRange(segments, { startBytes, endBytes }, options.signal);
    },
    end: () => payload.end({ signal: options.signal }),
  };
}

function readRange(
  segments: SegmentReader,
  { startBytes, endBytes }: { startBytes: number; endBytes: number },
  signal?: AbortSignal,
): ReadableStream<Uint8Array> {
  const stopped = new AbortController();
  const either = AbortSignal.any(signal ? [signal, stopped.signal] : [stopped.signal]);
  const end = Math.ceil(endBytes / SEGMENT_BYTES);
  /** Asked for and not read yet. */
  const ahead: Promise<Bytes>[] = [];
  let asked = Math.floor(startBytes / SEGMENT_BYTES);
  let runLength = FIRST_RUN;
  let atBytes = startBytes;

  /** The next ones before the last of those before is there: else every run would begin with a wait. */
  function ask() {
    while (asked < end && ahead.length <= runLength / 4) {
      const some = segments.ask(asked, Math.min(runLength, end - asked), either);
      asked += some.length;
      ahead.push(...some);
      if (some.length > 1) runLength = Math.min(2 * runLength, LONGEST_RUN);
    }
  }

  async function next(): Promise<Uint8Array> {
    ask();
    const from = atBytes % SEGMENT_BYTES;
    const piece = (await ahead.shift())?.subarray(from, from + endBytes - atBytes);
    if (!piece?.length) throw new MayflyError('tampered');
    atBytes += piece.length;
    return piece;
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          if (atBytes < endBytes) controller.enqueue(await next());
          if (atBytes >= endBytes) controller.close();
        } catch (error) {
          stopped.abort();
          throw error;
        }
      },
      cancel: () => stopped.abort(),
    },
    { highWaterMark: 0 },
  );
}
