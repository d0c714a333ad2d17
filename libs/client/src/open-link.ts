import type { NoteInfo, UploadInfo } from './answers.ts';
import { call, callJson } from './api.ts';
import { type Bytes, fromBase64url } from './bytes.ts';
import type { Context, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { record, text } from './fields.ts';
import { SHARE_BYTES } from './keys.ts';
import type { Link } from './link.ts';
import { type GivenPassword, isOpen, openKeys, unlock } from './protection.ts';
import { readMetadata } from './read-metadata.ts';

export type OpenOptions = RequestOptions &
  GivenPassword & {
    /** One that was granted, where the upload may be over for everybody else. */
    lease?: string | undefined;
  };

/**
 * The link with the real secret in it, and with the share of sealed metadata. Spends nothing. Throws `wrong-password`, which the metadata
 * tell where they can; where they cannot, the service is sent the auth token.
 */
export async function openLink(
  context: Context,
  link: Link,
  info: UploadInfo | NoteInfo,
  { lease, signal, ...given }: OpenOptions,
): Promise<Link> {
  if (isOpen(link, info)) return link;
  const isSealed = link.protection?.isSealed === true;
  if (isSealed && isOfUpload(info) && info.encryptedMeta === null) throw new MayflyError('not-finished');
  const opened = await unlock(link, info, given, context.passwordCost);
  const { authToken } = await openKeys(opened, info);
  const ask = { authToken, lease, signal };
  if (isSealed) return { ...opened, share: await askForShare(context, link, ask) };
  if (isOfUpload(info) && (await hasOpened(context, opened, info, { signal }))) return opened;
  await askWhetherRight(context, link, ask);
  return opened;
}

function isOfUpload(info: UploadInfo | NoteInfo): info is UploadInfo {
  return 'encryptedMeta' in info;
}

/** False when there are none yet. */
async function hasOpened(context: Context, link: Link, info: UploadInfo, options: RequestOptions): Promise<boolean> {
  try {
    return (await readMetadata(context, link, await openKeys(link, info), info, options)) !== undefined;
  } catch (error) {
    throw error instanceof MayflyError && error.code === 'tampered'
      ? new MayflyError('wrong-password', { cause: error })
      : error;
  }
}

type Ask = { authToken: string; lease?: string | undefined; signal?: AbortSignal | undefined };

const readShare = record<{ share: string }>({ share: text });

/** Contract: POST /api/unlock/<id>. */
async function askForShare(
  { transport }: Context,
  { baseUrl, id }: Link,
  { authToken, lease, signal }: Ask,
): Promise<Bytes> {
  const headers: Record<string, string> = lease ? { 'X-Download-Lease': lease } : {};
  const request = { method: 'POST', headers, body: JSON.stringify({ authToken }), signal } as const;
  const url = `${baseUrl}/api/unlock/${id}`;
  const answer = await callJson(transport, url, { ...request, read: readShare, unauthorized: 'wrong-password' });
  const share = fromBase64url(answer.share, SHARE_BYTES);
  if (!share) throw new MayflyError('bad-answer');
  return share;
}

/** Contract: POST /api/password/<id> and /api/note/<id>/password. */
async function askWhetherRight({ transport }: Context, { baseUrl, kind, id }: Link, { authToken, signal }: Ask) {
  const path = kind === 'upload' ? `password/${id}` : `note/${id}/password`;
  const body = JSON.stringify({ authToken });
  await call(transport, `${baseUrl}/api/${path}`, { method: 'POST', body, unauthorized: 'wrong-password', signal });
}
