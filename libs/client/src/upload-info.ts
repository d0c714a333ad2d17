import { readUploadInfo, type UploadInfo } from './answers.ts';
import { callJson, goneReason } from './api.ts';
import { fromBase64 } from './bytes.ts';
import type { Context, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import type { Keys } from './keys.ts';
import type { Address, Link } from './link.ts';
import { type Metadata, openMetadata } from './metadata.ts';

/** Contract: GET /api/info/<id>. Says which of the two reasons a 410 has. */
export async function getUploadInfo({ transport }: Context, link: Address, { signal }: RequestOptions) {
  const url = `${link.baseUrl}/api/info/${link.id}`;
  return withReason(
    { transport },
    link,
    signal,
    callJson(transport, url, { method: 'GET', read: readUploadInfo, signal }),
  );
}

/** Says which of the two reasons a 410 has, unless it has said so. */
export async function withReason<T>(
  { transport }: Pick<Context, 'transport'>,
  { baseUrl, id }: Address,
  signal: AbortSignal | undefined,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof MayflyError) || error.status !== 410 || error.code === 'download-ended') throw error;
    const reason = await goneReason(transport, `${baseUrl}/api/exists/${id}`, signal);
    throw new MayflyError(reason, { status: 410, cause: error });
  }
}

/** The metadata of an upload whose link is open; undefined while its sender has not stored it. Throws `tampered`. */
export async function readMetadata({ protection }: Link, keys: Keys, info: UploadInfo): Promise<Metadata | undefined> {
  if (info.encryptedMeta === null || info.nonce === null) return undefined;
  const [ciphertext, nonce] = [fromBase64(info.encryptedMeta), fromBase64(info.nonce)];
  if (!ciphertext || !nonce) throw new MayflyError('tampered');
  return openMetadata(keys.metadata, { ciphertext, nonce }, protection?.isSealed);
}
