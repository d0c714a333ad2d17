import { call, callJson } from './api.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { id, record } from './fields.ts';
import { type Layout, layOut, partCount, partedSize } from './layout.ts';
import type { Metadata } from './metadata.ts';
import { buildPayload } from './payload.ts';
import { newProtection, type Protection } from './protection.ts';
import { assertSealed, describe, readSealed } from './sealing.ts';
import { encryptSegments } from './segments.ts';
import { encryptedSize } from './size.ts';
import type { Source } from './source.ts';
import type { StreamBody } from './streams.ts';
import { uploadHeaders, uploadLink, uploadUrl } from './upload-headers.ts';
import type { UploadOptions } from './upload-options.ts';

/** Several files become one archive. Contract: POST /api/upload, then POST /api/meta/<id>; or in parts. */
export async function uploadFiles(context: Context, files: Source[], options: UploadOptions): Promise<Created> {
  const payload = buildPayload(files);
  const layout = partsFor(payload.size, options);
  if (layout) {
    const { uploadInParts } = await import('./resumable.ts');
    return uploadInParts(context, files, layout, options);
  }
  const protection = await newProtection(options, context);
  const { file } = protection.keys;
  const stream =
    context.transport.encryption?.seal(file, payload) ??
    payload.stream().pipeThrough(encryptSegments(file as CryptoKey)); // as keys are that no platform has derived
  return sendUpload(context, payload.metadata, { stream, sizeBytes: encryptedSize(payload.size) }, protection, options);
}

/** What the service has to take for these files, for comparing it with its `maxFileSize`. Throws `too-many-files`. */
export function uploadSize(files: Source[], options: Pick<UploadOptions, 'uploadParts' | 'inParts'> = {}): number {
  const { size } = buildPayload(files);
  const layout = partsFor(size, options);
  return layout ? partedSize(layout.paddedSize, layout.segmentsPerPart) : encryptedSize(size);
}

/** Undefined when a payload of this size is sent in one piece. */
function partsFor(
  size: number,
  { uploadParts, inParts }: Pick<UploadOptions, 'uploadParts' | 'inParts'>,
): Layout | undefined {
  if (inParts === false || (!inParts && !uploadParts)) return undefined;
  if (!uploadParts) throw new MayflyError('invalid-request', { message: 'The service takes no uploads in parts' });
  const layout = layOut(size, uploadParts);
  return inParts || partCount(size, layout.segmentsPerPart) > 1 ? layout : undefined;
}

/** In one piece. */
export async function sendUpload(
  context: Context,
  metadata: Metadata,
  body: StreamBody,
  protection: Protection,
  options: UploadOptions,
): Promise<Created> {
  const { id, url } = await sendPayload(context, metadata.files.length, body, protection, options);
  const link = await uploadLink(url, protection);
  await sendMetadata(context, id, metadata, protection, options);
  return { kind: 'upload', id, link, ownerSecret: protection.ownerSecret };
}

async function sendPayload(
  { transport, baseUrl }: Context,
  fileCount: number,
  body: StreamBody,
  protection: Protection,
  options: UploadOptions,
) {
  const { onProgress, signal } = options;
  return callJson(transport, `${baseUrl}/api/upload`, {
    method: 'POST',
    headers: uploadHeaders(fileCount, protection, options),
    body,
    read: readStored,
    onSent: (sentBytes) => onProgress?.(sentBytes, body.sizeBytes),
    signal,
  });
}

const readStored = record<{ id: string; url: string }>({ id, url: uploadUrl });

async function sendMetadata(
  { transport, baseUrl }: Context,
  id: string,
  metadata: Metadata,
  { keys, ownerToken, share }: Protection,
  { signal }: RequestOptions,
) {
  const headers = { 'X-Owner-Token': ownerToken };
  const body = JSON.stringify(await describe(keys, share, metadata));
  try {
    const url = `${baseUrl}/api/meta/${id}`;
    const stored = await callJson(transport, url, { method: 'POST', headers, body, read: readSealed, signal });
    if (share) assertSealed(stored);
  } catch (error) {
    // Best effort: nobody can use a payload without its description. It expires in any case.
    await call(transport, `${baseUrl}/api/upload/${id}`, { method: 'DELETE', headers }).catch(() => {});
    throw error;
  }
}
