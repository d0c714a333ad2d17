import type { Context, Created } from './context.ts';
import { asMayflyError, MayflyError } from './errors.ts';
import { chooseSegmentsPerPart, partedCapacity, partedLimit } from './layout.ts';
import { padme } from './padding.ts';
import { cutIntoParts, type PlainPart } from './parts.ts';
import { newProtection } from './protection.ts';
import { encryptSegments } from './segments.ts';
import { plaintextSize } from './size.ts';
import type { Source } from './source.ts';
import type { StreamBody } from './streams.ts';
import { withErrors } from './streams.ts';
import type { UploadOptions } from './upload-options.ts';
import { sendUpload, uploadFiles } from './uploads.ts';

/** Keeps an encrypted payload until it has ended and its size is known. */
export type Spool = (
  payload: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
) => Promise<StreamBody & AsyncDisposable>;

/** With `uploadParts` nothing is spooled. */
export type StreamUploadOptions = UploadOptions & { spool: Spool };

/** Of parts that have to be held until they are stored, where little memory is to be taken: just above 5 MiB, which S3 wants. */
const HELD_SEGMENTS = 80;

type StreamSource = { name: string; type: string; content: ReadableStream<Uint8Array> };

/** One file whose size nobody knows before its end. What the spool sees is encrypted. */
export async function uploadStream(
  context: Context,
  { name, type = '', stream }: Omit<Source, 'size'>,
  { spool, ...options }: StreamUploadOptions,
): Promise<Created> {
  const content = withErrors(stream(), (cause) => new MayflyError('bad-source', { cause }));
  const { uploadParts, inParts } = options;
  if (inParts === false || !uploadParts) return sendSpooled(context, { name, type, content }, spool, options);
  const segmentsPerPart = chooseSegmentsPerPart(
    Math.min(uploadParts.maxFileSize, partedCapacity(uploadParts)),
    uploadParts,
    context.transport.encryption && HELD_SEGMENTS,
  );
  const maxBytes = partedLimit(uploadParts, segmentsPerPart);
  return sendAsItComes(context, { name, type, content }, { segmentsPerPart, maxBytes }, options);
}

async function sendSpooled(
  context: Context,
  { name, type, content }: StreamSource,
  spool: Spool,
  options: UploadOptions,
) {
  const { signal } = options;
  const protection = await newProtection(options, context);
  const { file } = protection.keys;
  const encrypted =
    context.transport.encryption?.seal(file, { stream: () => content }) ??
    content.pipeThrough(encryptSegments(file as CryptoKey)); // as keys are that no platform has derived
  const body = await spool(encrypted, signal).catch((cause) => {
    throw signal?.aborted ? new MayflyError('aborted', { cause }) : cause;
  });
  try {
    const size = plaintextSize(body.sizeBytes);
    if (size === undefined) throw new MayflyError('bad-source');
    return await sendUpload(context, { files: [{ name, type, size }] }, body, protection, options);
  } finally {
    await body[Symbol.asyncDispose]();
  }
}

/** What ends within the first part is sent in one piece: its length is known then, and the service reserves no more than that. */
async function sendAsItComes(
  context: Context,
  { name, type, content }: StreamSource,
  limits: { segmentsPerPart: number; maxBytes: number },
  options: UploadOptions,
) {
  const { signal } = options;
  const reading = new AbortController();
  const stop = () => reading.abort();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    const abortable = content.pipeThrough(atMost(limits.maxBytes), { signal: reading.signal });
    let size: number | undefined;
    const padTo = (sizeBytes: number) => {
      size = sizeBytes;
      return Math.min(padme(sizeBytes), limits.maxBytes);
    };
    const passing = context.transport.encryption?.releasing(abortable) ?? abortable;
    const parts = cutIntoParts(passing, limits.segmentsPerPart, { padTo });
    const first = (!options.inParts && (await parts.next()).value) || undefined;
    if (first && size !== undefined) {
      const plaintext = first.plaintext.subarray(0, size);
      const file = { name, type, size, stream: () => new Blob([plaintext]).stream() };
      return await uploadFiles(context, [file], { ...options, inParts: false });
    }
    const { uploadStreamInParts } = await import('./resumable.ts');
    const source = { name, type, parts: following(first, parts), sizeBytes: () => size ?? 0 };
    return await uploadStreamInParts(context, source, limits, options);
  } catch (error) {
    throw signal?.aborted ? asMayflyError(error, signal) : error;
  } finally {
    signal?.removeEventListener('abort', stop);
    stop(); // nobody reads on
  }
}

/** Fails with `too-large` as soon as more has come. */
function atMost(maxBytes: number) {
  let sizeBytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw new MayflyError('too-large');
      controller.enqueue(chunk);
    },
  });
}

/** What was taken out to have a look at it, and the rest. */
async function* following(
  first: PlainPart | undefined,
  rest: AsyncGenerator<PlainPart>,
): AsyncGenerator<PlainPart, void> {
  if (first !== undefined) yield first;
  yield* rest;
}
