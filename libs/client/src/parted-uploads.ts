import { withUniqueNames } from './archive.ts';
import { fromBase64url, toBase64url } from './bytes.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { deriveKeys, SALT_BYTES, SECRET_BYTES, SHARE_BYTES } from './keys.ts';
import { chooseSegmentsPerPart, type Layout, partBytes, partCount, partedSize } from './layout.ts';
import { beginSession, PartSession } from './part-session.ts';
import { cutIntoParts, type PlainPart } from './parts.ts';
import { buildPayload } from './payload.ts';
import { newProtection, ownerToken } from './protection.ts';
import { isUnheard, Retries } from './retries.ts';
import { type PartedUpload, sendParts } from './send-parts.ts';
import { SEGMENT_BYTES } from './size.ts';
import type { Source } from './source.ts';
import { closed, identify, recognize, type UnfinishedUpload } from './unfinished.ts';
import { uploadHeaders, uploadLink } from './upload-headers.ts';
import type { PartOptions, UploadOptions } from './upload-options.ts';

type Content = Pick<PartedUpload, 'paddedSize' | 'describe' | 'read' | 'payload'>;

/** Encrypts and sends files in parts. */
export async function uploadInParts(
  context: Context,
  files: Source[],
  layout: Layout,
  options: UploadOptions,
): Promise<Created> {
  const { paddedSize } = layout;
  const sources = withUniqueNames(files);
  const segmentsPerPart = longerParts(context, sources, layout, options);
  const length = { 'X-Upload-Length': String(partedSize(paddedSize, segmentsPerPart)) };
  const content = contentOf(context, sources, { segmentsPerPart, paddedSize });
  return begin(context, content, { segmentsPerPart, length, sources }, options);
}

/** 16 MiB, each of which costs a request and what comes with it. */
const LONG_SEGMENTS = 256;
/** There are enough of them for several connections. */
const LEAST_LONG_PARTS = 4;

/** Longer than usual where they take no memory and the service takes them. */
function longerParts(
  { transport }: Context,
  sources: Source[],
  { segmentsPerPart, paddedSize }: Layout,
  { uploadParts }: UploadOptions,
): number {
  const { only } = buildPayload(sources);
  if (!only || !uploadParts || !transport.encryption?.reads(only)) return segmentsPerPart;
  const long = chooseSegmentsPerPart(paddedSize, uploadParts, LONG_SEGMENTS);
  return partCount(paddedSize, long) < LEAST_LONG_PARTS ? segmentsPerPart : long;
}

type PassingSource = { name: string; type: string; parts: AsyncGenerator<PlainPart, void>; sizeBytes: () => number };

/** The same for one file that goes by once. It cannot be resumed. */
export async function uploadStreamInParts(
  context: Context,
  { name, type, parts, sizeBytes }: PassingSource,
  { segmentsPerPart, maxBytes }: { segmentsPerPart: number; maxBytes: number },
  options: UploadOptions,
): Promise<Created> {
  const content: Content = {
    paddedSize: undefined,
    describe: () => ({ files: [{ name, type, size: sizeBytes() }], size: sizeBytes() }),
    async *read(firstNumber) {
      // The service asks again for parts that it has acknowledged.
      if (firstNumber > 1 || isRead)
        throw new MayflyError('unavailable', { message: 'The service has lost what cannot be read again' });
      isRead = true;
      yield* parts;
    },
  };
  let isRead = false;
  const length = { 'X-Upload-Length-Max': String(partedSize(maxBytes, segmentsPerPart)) };
  return begin(context, content, { segmentsPerPart, length, sources: [] }, options);
}

type Beginning = { segmentsPerPart: number; length: Record<string, string>; sources: Source[] };

async function begin(
  context: Context,
  content: Content,
  { segmentsPerPart, length, sources }: Beginning,
  options: UploadOptions,
): Promise<Created> {
  const { signal, onUnfinished, onAnnounced, patienceMs, onTrouble } = options;
  const protection = await newProtection(options, context);
  const { keys, secret, salt, share, ownerSecret } = protection;
  const fileCount = Math.max(1, sources.length);
  const headers = {
    ...uploadHeaders(fileCount, protection, options),
    ...length,
    'X-Part-Bytes': String(partBytes(segmentsPerPart)),
    ...(onAnnounced ? { 'X-Announce': 'true' } : {}),
  };
  const retries = new Retries({ patienceMs, onTrouble, clock: context.clock });
  const { id, url, endsAt } = await retries.run(() => beginSession(context, headers, signal), signal, isUnheard);
  const session = new PartSession(context, id, protection.ownerToken);
  const created: Created = { kind: 'upload', id, link: await uploadLink(url, protection), ownerSecret };
  const { baseUrl } = context;
  const { paddedSize } = content;
  const mayResume = onUnfinished !== undefined && paddedSize !== undefined;
  try {
    if (mayResume) {
      const { link } = created;
      const kept = { id, baseUrl, link, ownerSecret, secret: toBase64url(secret), salt, segmentsPerPart, paddedSize };
      const sealed = share ? { share: toBase64url(share) } : {};
      await onUnfinished({ ...kept, ...sealed, files: identify(sources), endsAt });
    }
    await onAnnounced?.(created);
    await sendParts(context, { session, keys, share, segmentsPerPart, ...content }, new Set(), options);
  } catch (error) {
    // Best effort: what nobody can resume ends by itself in any case.
    if (!mayResume) await session.cancel().catch(() => {});
    throw error;
  }
  return created;
}

/**
 * Goes on with an upload, with the same files; none are needed when everything is stored. `bad-source` when they have changed,
 * `upload-ended` when the service knows nothing of it any more; it then has to begin anew.
 */
export async function resumeUpload(
  context: Context,
  unfinished: UnfinishedUpload,
  files: Source[],
  options: PartOptions,
): Promise<Created> {
  const { id, link, ownerSecret, segmentsPerPart, paddedSize } = unfinished;
  const content: Content = {
    ...contentOf(context, unfinished.files.map(closed), unfinished),
    read: (...from) => contentOf(context, recognize(files, unfinished.files), unfinished).read(...from),
    payload: () => buildPayload(recognize(files, unfinished.files)),
  };
  const [secret, salt] = [fromBase64url(unfinished.secret, SECRET_BYTES), fromBase64url(unfinished.salt, SALT_BYTES)];
  const share = unfinished.share === undefined ? undefined : fromBase64url(unfinished.share, SHARE_BYTES);
  if (!secret || !salt || (unfinished.share !== undefined && !share))
    throw new MayflyError('invalid-request', { message: 'What was kept of this upload cannot be read' });
  const session = await sessionOf(context, unfinished);
  const { signal, patienceMs, onTrouble } = options;
  const retries = new Retries({ patienceMs, onTrouble, clock: context.clock });
  const count = partCount(paddedSize, segmentsPerPart);
  const { isComplete, stored } = await retries.run(() => session.look(count, signal), signal);
  if (!isComplete) {
    const keys = await deriveKeys(secret, salt, share, context.transport.encryption);
    const upload = { session, keys, share, segmentsPerPart, ...content };
    await sendParts(context, upload, stored, options);
  }
  return { kind: 'upload', id, link, ownerSecret };
}

/** Deletes what is stored of it. `upload-ended` when the service knows nothing of it. */
export async function cancelUpload(context: Context, unfinished: UnfinishedUpload, { signal }: RequestOptions) {
  const session = await sessionOf(context, unfinished);
  await session.cancel(signal);
}

/**
 * How much of it is stored: all, too, when it was completed and has been used up or has expired since. `upload-ended` when the
 * service knows nothing of it (any more): it does not remember for ever what it had.
 */
export async function getStoredBytes(context: Context, unfinished: UnfinishedUpload, { signal }: RequestOptions) {
  const totalBytes = partedSize(unfinished.paddedSize, unfinished.segmentsPerPart);
  const session = await sessionOf(context, unfinished);
  const { isComplete, storedBytes } = await session.look(1, signal);
  return { storedBytes: isComplete ? totalBytes : storedBytes, totalBytes };
}

async function sessionOf(context: Context, { id, baseUrl, ownerSecret }: UnfinishedUpload): Promise<PartSession> {
  return new PartSession({ ...context, baseUrl }, id, await ownerToken(ownerSecret));
}

function contentOf({ transport }: Context, sources: Source[], { segmentsPerPart, paddedSize }: Layout): Content {
  const payload = buildPayload(sources);
  const { size, metadata, stream } = payload;
  return {
    paddedSize,
    describe: () => ({ ...metadata, size }),
    read(firstPart, signal) {
      const startBytes = (firstPart - 1) * segmentsPerPart * SEGMENT_BYTES;
      const isPadding = startBytes > 0 && startBytes >= size;
      const rest = isPadding ? new Blob([]).stream() : stream(startBytes);
      const abortable = rest.pipeThrough(new TransformStream(), { signal });
      const content = transport.encryption?.releasing(abortable) ?? abortable;
      return cutIntoParts(content, segmentsPerPart, { firstPart, padTo: () => paddedSize });
    },
    payload: () => payload,
  };
}
