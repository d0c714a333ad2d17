import type { NoteContentType } from '@mayfly/vocabulary';
import { call, callJson, jsonOf, type NoteInfo, type ServiceConfig } from './api.ts';
import { fromBase64, toBase64 } from './bytes.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { type Address, formatLink, type Link } from './link.ts';
import { openMessage, sealMessage } from './message.ts';
import { newProtection, openKeys, type PasswordOptions } from './protection.ts';
import { type RepeatOptions, repeatView, untilHeaders } from './repeat-view.ts';

export type NoteOptions = RequestOptions &
  PasswordOptions & {
    contentType?: NoteContentType;
    /** One of the service's `noteExpireOptionsSec`. */
    expireSec: number;
    /** One of the service's `noteViewOptions`. */
    maxViews: number;
  };

export type CreatedNote = Created & { expiresAt: string };

/** Contract: POST /api/note. */
export async function createNote(context: Context, text: string, options: NoteOptions): Promise<CreatedNote> {
  const { transport, baseUrl, passwordCost } = context;
  const { contentType = 'text', expireSec, maxViews, signal } = options;
  const { keys, linkSecret, ownerSecret, ownerToken, salt, password } = await newProtection(options, passwordCost);
  const { ciphertext, nonce } = await sealMessage(keys.note, purpose(contentType), text);
  const body = JSON.stringify({
    encryptedContent: toBase64(ciphertext),
    nonce: toBase64(nonce),
    salt,
    ownerToken,
    authToken: keys.authToken,
    contentType,
    maxViews,
    expireSec,
    hasPassword: password !== undefined,
    ...password,
  });
  const answer = await callJson<{ id: string; expiresAt: string }>(transport, `${baseUrl}/api/note`, {
    method: 'POST',
    body,
    signal,
  });
  const { id, expiresAt } = answer;
  const link = formatLink({ kind: 'note', baseUrl, id, secret: linkSecret });
  return { kind: 'note', id, link, ownerSecret, expiresAt };
}

/** Contract: GET /api/note/<id>. Spends nothing. */
export function getNoteInfo({ transport }: Context, link: Address, { signal }: RequestOptions): Promise<NoteInfo> {
  return callJson<NoteInfo>(transport, `${link.baseUrl}/api/note/${link.id}`, { method: 'GET', signal });
}

export type ViewedNote = { text: string; contentType: NoteContentType; viewCount: number; maxViews: number };

export type ViewOptions = RepeatOptions & {
  /** What `getNote` has said: a view that is repeated may find nothing else any more. */
  info?: NoteInfo | undefined;
  /** 16 to 128 characters, made anew for each view, such as a UUID: who sends it again within `viewRepeatSec` repeats that view. */
  idempotencyKey?: string | undefined;
};

/** Contract: POST /api/note/<id>/view. Spends one view, however often it is tried. */
export async function openNote(
  { transport }: Context,
  link: Link,
  info: NoteInfo,
  { idempotencyKey = crypto.randomUUID(), ...options }: ViewOptions,
): Promise<ViewedNote> {
  const { signal } = options;
  const keys = await openKeys(link, info);
  const headers = { 'Idempotency-Key': `"${idempotencyKey.replace(/["\\]/g, '\\$&')}"` };
  const body = JSON.stringify({ authToken: keys.authToken });
  const unauthorized = info.hasPassword ? 'wrong-password' : 'wrong-token';
  const url = `${link.baseUrl}/api/note/${link.id}/view`;
  const send = async () => {
    const answer = await untilHeaders(signal, (signal) =>
      call(transport, url, { method: 'POST', headers, body, unauthorized, signal }),
    );
    return jsonOf<ViewAnswer>(answer, signal);
  };
  const getConfig = async () => {
    const ask = (signal: AbortSignal) => call(transport, `${link.baseUrl}/api/config`, { method: 'GET', signal });
    return jsonOf<ServiceConfig>(await untilHeaders(signal, ask), signal);
  };
  const answer = await repeatView(send, getConfig, options);
  const [ciphertext, nonce] = [fromBase64(answer.encryptedContent), fromBase64(answer.nonce)];
  if (!ciphertext || !nonce) throw new MayflyError('tampered');
  const { viewCount, maxViews } = answer;
  const text = await openMessage(keys.note, purpose(info.contentType), { ciphertext, nonce });
  return { text, contentType: info.contentType, viewCount, maxViews };
}

type ViewAnswer = { encryptedContent: string; nonce: string; viewCount: number; maxViews: number };

/** The type is what the sender chose: a service that shows a note as something else is found out. */
function purpose(contentType: string): string {
  return `mayfly v1 note ${contentType}`;
}
