import type { Bytes } from './bytes.ts';
import type { Context } from './context.ts';
import type { PartBody } from './encryption.ts';
import { MayflyError } from './errors.ts';
import type { Keys } from './keys.ts';
import { FORMAT_2, partBytes, partCount, partedSize } from './layout.ts';
import type { Metadata } from './metadata.ts';
import { storeParts } from './part-queue.ts';
import type { PartSession } from './part-session.ts';
import { encryptPart, type PlainPart } from './parts.ts';
import type { Payload } from './payload.ts';
import { Retries } from './retries.ts';
import { describe } from './sealing.ts';
import { SEGMENT_BYTES } from './size.ts';
import type { PartOptions } from './upload-options.ts';

/** So many times those parts are sent again that the service says it lacks. */
const MAX_ROUNDS = 3;
const MAX_PARALLEL = 4;
/** Of parts that have to be held until they are stored, where little memory is to be taken. */
const MAX_HELD = 2;
/** More than any service takes. */
const MAX_PARTS = 100_000;

export type PartedUpload = {
  session: PartSession;
  keys: Keys;
  /** Of sealed metadata. */
  share: Bytes | undefined;
  segmentsPerPart: number;
  /** Bytes of content and padding; undefined where nobody knows before the end. */
  paddedSize: number | undefined;
  /** Metadata but for format and parts; asked when all is sent. */
  describe(): Metadata;
  /** The plaintext from a part on, until the signal ends it. */
  read(firstNumber: number, signal: AbortSignal): AsyncGenerator<PlainPart>;
  /** What the plaintext is made of; undefined where it goes by once. */
  payload?(): Payload;
};

/** Sends what is not stored yet and completes the upload. Can be called again, here or elsewhere, until it has succeeded. */
export async function sendParts(
  context: Context,
  upload: PartedUpload,
  stored: ReadonlySet<number>,
  options: PartOptions,
): Promise<void> {
  const { session, keys, share, segmentsPerPart } = upload;
  const { signal, patienceMs, onTrouble } = options;
  const retries = new Retries({ patienceMs, onTrouble, clock: context.clock });
  let isThere = stored;
  for (let round = 1; ; round += 1) {
    const paddedSize = await sendMissing(context, upload, isThere, retries, options);
    const metadata = { ...upload.describe(), format: FORMAT_2, segmentsPerPart };
    const description = await describe(keys, share, metadata);
    const count = partCount(paddedSize, segmentsPerPart);
    const length = partedSize(paddedSize, segmentsPerPart);
    const missing = await retries.run(() => session.complete(length, description, count, signal), signal);
    if (!missing) return;
    if (round === MAX_ROUNDS) throw new MayflyError('unavailable', { message: 'The service loses what it is sent' });
    isThere = new Set(Array.from({ length: count }, (_, index) => index + 1).filter((number) => !missing.has(number)));
  }
}

/** Returns the size of content and padding. */
async function sendMissing(
  { clock, transport }: Context,
  { session, keys, segmentsPerPart, paddedSize, read, payload }: PartedUpload,
  stored: ReadonlySet<number>,
  retries: Retries,
  { signal, onProgress, maxParallel = transport.maxParallel ?? MAX_PARALLEL }: PartOptions,
): Promise<number> {
  const totalBytes = paddedSize === undefined ? Number.POSITIVE_INFINITY : partedSize(paddedSize, segmentsPerPart);
  const count = paddedSize === undefined ? MAX_PARTS : partCount(paddedSize, segmentsPerPart);
  const placeOf = (number: number) => Math.min(totalBytes, (number - 1) * partBytes(segmentsPerPart));
  let storedBytes = 0;
  let first = 1;
  for (const number of stored) storedBytes += placeOf(number + 1) - placeOf(number);
  while (stored.has(first)) first += 1;
  if (storedBytes > 0) onProgress?.(storedBytes, totalBytes);
  let endBytes = paddedSize;
  const reading = new AbortController();
  const { encryption } = transport;
  const layout = paddedSize === undefined ? undefined : { segmentsPerPart, paddedSize };
  const seek = first <= count && layout && payload && encryption?.streamFrom(payload(), keys.payload, layout);
  const toBody =
    encryption?.streamParts(keys.payload, segmentsPerPart) ?? encryptedParts(keys.payload, segmentsPerPart);
  async function* bodies(): AsyncGenerator<PartBody> {
    if (seek) {
      for (let number = first; number <= count; number += 1) if (!stored.has(number)) yield seek(number);
      return;
    }
    if (first > count) return;
    for await (const part of read(first, reading.signal)) {
      const { number, plaintext, isLast } = part;
      if (isLast) endBytes = (number - 1) * segmentsPerPart * SEGMENT_BYTES + plaintext.length;
      if (stored.has(number)) part.release();
      else yield await toBody(part);
    }
  }
  try {
    await storeParts(bodies(), {
      store: ({ number, body }, signal) =>
        retries.run(async (lastFailure) => {
          // Perhaps only the answer was lost.
          if (lastFailure?.code === 'network' && (await session.look(count, signal)).stored.has(number)) return;
          await session.store(number, body(), signal);
        }, signal),
      sizeOf: ({ sizeBytes }) => sizeBytes,
      onStored({ sizeBytes, done }) {
        storedBytes += sizeBytes;
        done();
        onProgress?.(storedBytes, totalBytes);
      },
      maxParallel: encryption && !seek ? Math.min(maxParallel, MAX_HELD) : maxParallel,
      signal,
      clock,
    });
  } finally {
    reading.abort(); // whoever reads a source that has stopped would wait for ever
  }
  return endBytes ?? 0;
}

/** Each part is encrypted once, before it is sent. */
function encryptedParts(key: CryptoKey, segmentsPerPart: number) {
  /** Buffers of full parts that are stored: new ones would be garbage faster than it is collected. */
  const spare: Bytes[] = [];
  return async (part: PlainPart): Promise<PartBody> => {
    const bytes = await encryptPart(key, part, segmentsPerPart, undefined, spare.pop());
    part.release();
    const done = () => {
      if (bytes.length === partBytes(segmentsPerPart)) spare.push(bytes);
    };
    return { number: part.number, sizeBytes: bytes.length, body: () => bytes, done };
  };
}
