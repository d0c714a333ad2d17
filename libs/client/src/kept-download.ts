import { ByteReader } from './byte-reader.ts';
import type { Bytes } from './bytes.ts';
import type { Context } from './context.ts';
import type { Download, DownloadOptions } from './download-options.ts';
import { MayflyError } from './errors.ts';
import type { EndOptions, LeasedOptions, LeasedPayload } from './leased-payload.ts';
import type { Link } from './link.ts';
import { type LeaseOptions, openLease } from './open-lease.ts';
import { openPayload } from './open-payload.ts';
import { withProgress } from './payload.ts';
import type { Places } from './places.ts';
import { SEGMENT_BYTES } from './size.ts';
import { withoutStart } from './streams.ts';
import { withReason } from './upload-info.ts';

/** A download under a lease that its caller keeps, from any byte of the content on. */
export async function continueDownload(
  context: Context,
  link: Link,
  { startBytes = 0, isContinued = startBytes > 0, onProgress, ...options }: DownloadOptions & { lease: string },
): Promise<Download> {
  const opened = await openLease(context, link, { ...options, isContinued });
  const { keys, metadata, size, payload, places } = opened;
  if (!(Number.isSafeInteger(startBytes) && startBytes >= 0 && startBytes <= size)) {
    throw new MayflyError('invalid-request', { message: `There is no byte ${startBytes} of ${size}` });
  }
  const first = places.segmentAt(startBytes);
  const firstBytes = first * SEGMENT_BYTES;
  const begin = { ...places.inPart(first), header: await readHeader(payload, places, first, options) };
  const isRepeated = isContinued && startBytes < size; // perhaps from the same segment on
  const open = payload.read(places.of(first, places.segments - 1), { ...options, isRepeated });
  const ciphertext = await withReason(context, link, options.signal, open);
  const content = openPayload(keys, ciphertext, { ...begin, sizeBytes: size - firstBytes });
  const wanted = withoutStart(content, startBytes - firstBytes);
  return { metadata, size, payload: wanted.pipeThrough(withProgress(onProgress, size, startBytes)) };
}

/** The header of a segment's part, unless it comes with the segment. */
export async function readHeader(
  payload: LeasedPayload,
  places: Places,
  segment: number,
  options: LeasedOptions,
): Promise<Bytes | undefined> {
  if (places.inPart(segment).firstSegment === 0) return undefined;
  const place = places.headerOf(segment);
  const bytes = new ByteReader(await payload.read(place, options));
  return bytes.fill(new Uint8Array(place.endBytes - place.startBytes));
}

/** Best effort: it ends by itself. Contract: DELETE /api/lease/<id>. */
export async function endLease(
  context: Context,
  link: Link,
  { isWhole, ...options }: LeaseOptions & EndOptions,
): Promise<void> {
  try {
    const { payload } = await openLease(context, link, { ...options, isContinued: true });
    await payload.end({ signal: options.signal, isWhole });
  } catch {
    // There is nobody to tell: nothing is left to end, or it ends by itself.
  }
}
