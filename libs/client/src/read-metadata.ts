import type { UploadInfo } from './answers.ts';
import { call } from './api.ts';
import { fromBase64 } from './bytes.ts';
import type { Context, RequestOptions } from './context.ts';
import { asMayflyError, MayflyError } from './errors.ts';
import type { Keys } from './keys.ts';
import { newLease } from './lease.ts';
import type { Address, Link } from './link.ts';
import { type Metadata, openMetadata } from './metadata.ts';

/**
 * The metadata of an upload whose link is open; undefined while its sender has not stored it. Throws `tampered`; where a link without a check
 * may have another key, `wrong-token` or `key-or-tampered`.
 */
export async function readMetadata(
  context: Context,
  link: Link,
  keys: Keys,
  info: UploadInfo,
  { signal }: RequestOptions,
): Promise<Metadata | undefined> {
  if (info.encryptedMeta === null || info.nonce === null) return undefined;
  const [ciphertext, nonce] = [fromBase64(info.encryptedMeta), fromBase64(info.nonce)];
  if (!ciphertext || !nonce) throw new MayflyError('tampered');
  try {
    return await openMetadata(keys.metadata, { ciphertext, nonce }, link.protection?.isSealed);
  } catch (error) {
    // The check was right, or it is the password that is asked about, or what the key has opened is no description.
    const isOpened = (error as Error).cause === undefined;
    if (link.protection || info.hasPassword || isOpened) throw error;
    throw await wrongOrChanged(context, link, { authToken: keys.authToken, signal });
  }
}

type Asked = RequestOptions & { authToken: string };

/**
 * What a description that does not open is, where the link has no check: with another key than the service was told of, `wrong-token`; with
 * that key it was changed, `tampered`; `key-or-tampered` when the service does not say. Spends nothing. Throws only `aborted`.
 */
async function wrongOrChanged(
  { transport }: Context,
  { baseUrl, id }: Address,
  { authToken, signal }: Asked,
): Promise<MayflyError> {
  // Contract: DELETE /api/lease/<id>. There is no such lease, so nothing ends; but the key comes first.
  const headers = { 'X-Auth-Token': authToken, 'X-Download-Lease': newLease() };
  try {
    await call(transport, `${baseUrl}/api/lease/${id}`, { method: 'DELETE', headers, signal });
    return new MayflyError('tampered');
  } catch (error) {
    const { code } = asMayflyError(error, signal);
    if (code === 'aborted') throw error;
    return new MayflyError(code === 'wrong-token' ? code : 'key-or-tampered', { cause: error });
  }
}
