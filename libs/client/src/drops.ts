import { readRefusal } from './answer-body.ts';
import { call, callJson } from './api.ts';
import { type Bytes, equal, fromBase64, toBase64 } from './bytes.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import { type ErrorCode, MayflyError } from './errors.ts';
import { record, text } from './fields.ts';
import { type Greeting, openGreeting, type StoredGreeting } from './greeting.ts';
import { openSuite } from './hpke.ts';
import { parseLink } from './link.ts';
import { ownerToken } from './protection.ts';
import { deriveRequestKeys, hashKey, PUBLIC_KEY_BYTES, sealSecret } from './request-keys.ts';
import { parseRequestLink, type RequestLink } from './request-link.ts';
import { type RequestTerms, termsFields } from './request-terms.ts';
import { Retries, type RetryOptions } from './retries.ts';
import type { TransportAnswer } from './transport.ts';

/** A file request whose key is the one that its link names. */
export type OpenedRequest = RequestTerms & Partial<Greeting> & { link: RequestLink; publicKey: Bytes };

export type DropOptions = RequestOptions & Pick<RetryOptions, 'patienceMs' | 'onTrouble'>;

type Stored = RequestTerms & StoredGreeting & { publicKey: string };

const readStored = record<Stored>({ publicKey: text, ...termsFields });

/** Contract: GET /api/request/<id>. Throws `tampered` when the service shows another key than the link names. */
export async function openRequest(
  { transport }: Context,
  link: string | RequestLink,
  { signal }: RequestOptions,
): Promise<OpenedRequest> {
  const parsed = typeof link === 'string' ? parseRequestLink(link) : link;
  const keyHash = await namedKey(parsed);
  const url = `${parsed.baseUrl}/api/request/${parsed.id}`;
  const { greeting, nonce, ...stored } = await callJson(transport, url, { method: 'GET', read: readStored, signal });
  const publicKey = fromBase64(stored.publicKey);
  if (publicKey?.length !== PUBLIC_KEY_BYTES) throw new MayflyError('bad-answer');
  if (!equal(await hashKey(publicKey), keyHash)) {
    throw new MayflyError('tampered', {
      message: 'The service shows another key than this link names, or the link was changed: send nothing through it',
    });
  }
  return { ...stored, ...(await openGreeting(keyHash, { greeting, nonce })), publicKey, link: parsed };
}

async function namedKey(link: RequestLink): Promise<Bytes> {
  if (link.role === 'drop') return link.keyHash;
  return (await deriveRequestKeys(await openSuite(), link.seed)).keyHash;
}

const NONE_LEFT = 'This request has got everything that it asked for';
const NO_ROOM = 'The request has not enough room left for it';

/** Before anything is sent: throws `used-up` when no drop is left, `too-large` when so many bytes, encrypted, do not fit. */
export function checkRoom({ dropsLeft, bytesLeft }: Pick<OpenedRequest, 'dropsLeft' | 'bytesLeft'>, sizeBytes: number) {
  if (dropsLeft === 0) throw new MayflyError('used-up', { message: NONE_LEFT });
  if (sizeBytes > bytesLeft) throw new MayflyError('too-large', { message: NO_ROOM });
}

const GONE = 410;

/** Why a request takes nothing, by its sentence; that its time is over, or that of the upload, otherwise. */
const REASONS = new Map<unknown, [ErrorCode, string]>([
  ['Request is full', ['used-up', NONE_LEFT]],
  ['Request has not enough room left', ['too-large', NO_ROOM]],
  ['Request has expired', ['expired', 'The time of this request is over']],
]);

async function noRoom(answer: TransportAnswer): Promise<MayflyError> {
  const { error } = ((await readRefusal(answer)) ?? {}) as { error?: unknown };
  const [code, message] = REASONS.get(error) ?? [];
  return new MayflyError(code ?? 'expired', { status: GONE, ...(message && { message }) });
}

/**
 * Contract: POST /api/request/<id>/drop. Repeated until there is an answer. What the request refuses is deleted: nobody could open it.
 */
export async function drop(
  context: Context,
  { link, publicKey }: Pick<OpenedRequest, 'link' | 'publicKey'>,
  { link: uploadLink, ownerSecret }: Pick<Created, 'link' | 'ownerSecret'>,
  { signal, ...retryOptions }: DropOptions,
): Promise<void> {
  const { id: uploadId, secret, protection } = await parseLink(uploadLink);
  if (!protection) throw new MayflyError('damaged-link');
  const place = { requestId: link.id, uploadId };
  const { enc, sealed } = await sealSecret(await openSuite(), publicKey, place, { secret, protection });
  const body = JSON.stringify({ uploadId, enc: toBase64(enc), sealed: toBase64(sealed) });
  const headers = { 'X-Owner-Token': await ownerToken(ownerSecret) };
  const { transport } = context;
  const url = `${link.baseUrl}/api/request/${link.id}/drop`;
  const send = async () => {
    const answer = await call(transport, url, { method: 'POST', headers, body, signal, expected: GONE });
    if (answer.status === GONE) throw await noRoom(answer);
  };
  try {
    await new Retries({ clock: context.clock, ...retryOptions }).run(send, signal);
  } catch (error) {
    const isRefused = error instanceof MayflyError && (error.status === 404 || error.status === GONE);
    // Best effort: it expires in any case.
    if (isRefused)
      await call(transport, `${link.baseUrl}/api/upload/${uploadId}`, { method: 'DELETE', headers }).catch(() => {});
    throw error;
  }
}
