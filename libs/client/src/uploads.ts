import { call, callJson, goneReason, type UploadInfo } from './api.ts';
import { fromBase64, toBase64 } from './bytes.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import { asMayflyError, MayflyError } from './errors.ts';
import type { Keys } from './keys.ts';
import { type Address, formatLink, type Link, parseLink } from './link.ts';
import { type Metadata, openMetadata, sealMetadata } from './metadata.ts';
import { buildPayload, type OnProgress, withProgress } from './payload.ts';
import { newProtection, openKeys, type PasswordOptions, type Protection } from './protection.ts';
import { decryptSegments, encryptSegments } from './segments.ts';
import { encryptedSize, plaintextSize } from './size.ts';
import type { Source } from './source.ts';
import { withErrors } from './streams.ts';
import type { StreamBody } from './transport.ts';

export type UploadOptions = RequestOptions &
  PasswordOptions & {
    /** One of the service's `expireOptionsSec`. */
    expireSec: number;
    /** One of the service's `downloadOptions`. */
    maxDownloads: number;
    /** Bytes of the encrypted payload. */
    onProgress?: OnProgress;
  };

/** Several files become one archive. Contract: POST /api/upload, then POST /api/meta/<id>. */
export async function uploadFiles(context: Context, files: Source[], options: UploadOptions): Promise<Created> {
  const { metadata, size, stream } = buildPayload(files);
  const protection = await newProtection(options, context.passwordCost);
  const body = { stream: stream().pipeThrough(encryptSegments(protection.keys.file)), sizeBytes: encryptedSize(size) };
  return sendUpload(context, metadata, body, protection, options);
}

/** The Content-Length of an upload of these files, for comparing it with the service's `maxFileSize`. */
export function uploadSize(files: Source[]): number {
  return encryptedSize(buildPayload(files).size);
}

/** Keeps an encrypted payload until it has ended and its size is known. */
export type Spool = (
  payload: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
) => Promise<StreamBody & AsyncDisposable>;

export type StreamUploadOptions = UploadOptions & { spool: Spool };

/** One file whose size nobody knows before its end. What the spool sees is encrypted. */
export async function uploadStream(
  context: Context,
  { name, type = '', stream }: Omit<Source, 'size'>,
  { spool, ...options }: StreamUploadOptions,
): Promise<Created> {
  const protection = await newProtection(options, context.passwordCost);
  const content = withErrors(stream(), (cause) => new MayflyError('bad-source', { cause }));
  const body = await spool(content.pipeThrough(encryptSegments(protection.keys.file)), options.signal).catch(
    (cause) => {
      throw options.signal?.aborted ? new MayflyError('aborted', { cause }) : cause;
    },
  );
  try {
    const size = plaintextSize(body.sizeBytes);
    if (size === undefined) throw new MayflyError('bad-source');
    return await sendUpload(context, { files: [{ name, type, size }] }, body, protection, options);
  } finally {
    await body[Symbol.asyncDispose]();
  }
}

async function sendUpload(
  context: Context,
  metadata: Metadata,
  body: StreamBody,
  protection: Protection,
  options: UploadOptions,
): Promise<Created> {
  const { id, url } = await sendPayload(context, metadata.files.length, body, protection, options);
  const created: Created = {
    kind: 'upload',
    id,
    link: formatLink({ ...parseAddress(url), secret: protection.linkSecret }),
    ownerSecret: protection.ownerSecret,
  };
  await sendMetadata(context, id, metadata, protection, options);
  return created;
}

async function sendPayload(
  { transport, baseUrl }: Context,
  fileCount: number,
  body: StreamBody,
  { keys, ownerToken, salt, password }: Protection,
  { expireSec, maxDownloads, onProgress, signal }: UploadOptions,
) {
  return callJson<{ id: string; url: string }>(transport, `${baseUrl}/api/upload`, {
    method: 'POST',
    headers: {
      'X-Auth-Token': keys.authToken,
      'X-Owner-Token': ownerToken,
      'X-Salt': salt,
      'X-Max-Downloads': String(maxDownloads),
      'X-Expire-Sec': String(expireSec),
      'X-File-Count': String(fileCount),
      'X-Has-Password': String(password !== undefined),
      ...(password ? { 'X-Password-Salt': password.passwordSalt, 'X-Password-Algo': password.passwordAlgo } : {}),
    },
    body,
    onSent: (sentBytes) => onProgress?.(sentBytes, body.sizeBytes),
    signal,
  });
}

async function sendMetadata(
  { transport, baseUrl }: Context,
  id: string,
  metadata: Metadata,
  { keys, ownerToken }: Protection,
  { signal }: RequestOptions,
) {
  const { ciphertext, nonce } = await sealMetadata(keys.metadata, metadata);
  const headers = { 'X-Owner-Token': ownerToken };
  const body = JSON.stringify({ encryptedMeta: toBase64(ciphertext), nonce: toBase64(nonce) });
  try {
    await call(transport, `${baseUrl}/api/meta/${id}`, { method: 'POST', headers, body, signal });
  } catch (error) {
    // Best effort: nobody can use a payload without its description. It expires in any case.
    await call(transport, `${baseUrl}/api/upload/${id}`, { method: 'DELETE', headers }).catch(() => {});
    throw error;
  }
}

/** Contract: GET /api/info/<id>. Says which of the two reasons a 410 has. */
export async function getUploadInfo({ transport }: Context, link: Address, { signal }: RequestOptions) {
  const url = `${link.baseUrl}/api/info/${link.id}`;
  return withReason({ transport }, link, signal, callJson<UploadInfo>(transport, url, { method: 'GET', signal }));
}

/** The metadata of an upload whose link is open; undefined while its sender has not stored it. */
export async function readMetadata(keys: Keys, info: UploadInfo): Promise<Metadata | undefined> {
  if (info.encryptedMeta === null || info.nonce === null) return undefined;
  const [ciphertext, nonce] = [fromBase64(info.encryptedMeta), fromBase64(info.nonce)];
  if (!ciphertext || !nonce) throw new MayflyError('tampered');
  return openMetadata(keys.metadata, { ciphertext, nonce });
}

export type DownloadOptions = RequestOptions & {
  password?: string;
  /** Bytes of the decrypted payload. */
  onProgress?: OnProgress;
};

export type Download = {
  metadata: Metadata;
  /** Bytes of the decrypted payload. */
  size: number;
  /** Fails with `tampered` or `network` before its end unless the whole payload is what the sender encrypted. */
  payload: ReadableStream<Uint8Array>;
};

/** Contract: GET /api/download/<id>. Spends one download, so it is never tried again. */
export async function openDownload(
  { transport }: Context,
  link: Link,
  info: UploadInfo,
  { onProgress, signal }: DownloadOptions,
): Promise<Download> {
  const keys = await openKeys(link, info);
  const metadata = await readMetadata(keys, info);
  if (!metadata) throw new MayflyError('not-finished');
  const size = plaintextSize(info.size);
  if (size === undefined || (!metadata.archive && size !== metadata.files[0]?.size)) throw new MayflyError('tampered');
  const answer = await withReason(
    { transport },
    link,
    signal,
    call(transport, `${link.baseUrl}/api/download/${link.id}`, {
      method: 'GET',
      headers: { 'X-Auth-Token': keys.authToken },
      signal,
    }),
  );
  const payload = withErrors(answer.body, (error) => asMayflyError(error, signal))
    .pipeThrough(decryptSegments(keys.file))
    .pipeThrough(withProgress(onProgress, size));
  return { metadata, size, payload };
}

async function withReason<T>(
  { transport }: Pick<Context, 'transport'>,
  { baseUrl, id }: Address,
  signal: AbortSignal | undefined,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof MayflyError) || error.status !== 410) throw error;
    const reason = await goneReason(transport, `${baseUrl}/api/exists/${id}`, signal);
    throw new MayflyError(reason, { status: 410, cause: error });
  }
}

/** The service knows its public address, which may not be the one that the client uses. */
function parseAddress(url: string): Link {
  // A link needs some secret to be one; the real one takes its place.
  return parseLink(`${url}#${'A'.repeat(43)}`);
}
