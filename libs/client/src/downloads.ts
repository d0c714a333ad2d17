import type { UploadInfo } from './answers.ts';
import { call } from './api.ts';
import type { Context } from './context.ts';
import type { Download, DownloadOptions } from './download-options.ts';
import { asMayflyError, MayflyError } from './errors.ts';
import { continueDownload } from './kept-download.ts';
import { openLeasedPayload } from './leased-payload.ts';
import type { Address, Link } from './link.ts';
import { openDescription } from './open-description.ts';
import { openLink } from './open-link.ts';
import { openPayload } from './open-payload.ts';
import { withProgress } from './payload.ts';
import { withErrors } from './streams.ts';
import { getUploadInfo, withReason } from './upload-info.ts';

/** What is shorter is not worth the request that ends a lease. */
const LEAST_LEASED_BYTES = 256 * 1024;

/** Spends one download, or goes on with one under the lease that its caller keeps. */
export async function download(context: Context, link: Link, options: DownloadOptions): Promise<Download> {
  const { lease, downloadLeases, startBytes = 0 } = options;
  if (lease && downloadLeases) return continueDownload(context, link, { ...options, lease });
  if (startBytes > 0) throw new MayflyError('invalid-request', { message: 'This download cannot be continued' });
  const info = await getUploadInfo(context, link, options);
  return openDownload(context, await openLink(context, link, info, { ...options, lease: undefined }), info, options);
}

/** Contract: GET /api/download/<id>, which is never tried again; under a lease of its own GET /api/lease/<id>. */
async function openDownload(
  context: Context,
  link: Link,
  info: UploadInfo,
  { onProgress, downloadLeases, ...options }: DownloadOptions,
): Promise<Download> {
  const { keys, metadata, size } = await openDescription(context, link, info, options);
  const { signal } = options;
  const isLeased = downloadLeases !== undefined && info.size > LEAST_LEASED_BYTES;
  const leased = { ...link, authToken: keys.authToken, sizeBytes: info.size };
  const open = isLeased
    ? openLeasedPayload(context, leased, options)
    : openPlain(context, link, keys.authToken, signal);
  const ciphertext = await withReason(context, link, signal, open);
  const payload = openPayload(keys, ciphertext, { sizeBytes: size }).pipeThrough(withProgress(onProgress, size));
  return { metadata, size, payload };
}

async function openPlain(
  { transport }: Context,
  { baseUrl, id }: Address,
  authToken: string,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const headers = { 'X-Auth-Token': authToken };
  const answer = await call(transport, `${baseUrl}/api/download/${id}`, { method: 'GET', headers, signal });
  return withErrors(answer.body, (error) => asMayflyError(error, signal));
}
