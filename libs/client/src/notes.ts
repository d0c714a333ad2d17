import type { NoteContentType } from '@mayfly/vocabulary';
import { jsonOf, MAX_LARGE_ANSWER_BYTES } from './answer-body.ts';
import { type NoteInfo, readConfig, readNoteInfo } from './answers.ts';
import { call, callJson } from './api.ts';
import { fromBase64, toBase64 } from './bytes.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { id, limit, record, text, time } from './fields.ts';
import { type Address, formatLink, type Link } from './link.ts';
import { type Message, openMessage } from './message.ts';
import { type NoteContent, readNote, sealNote } from './note-message.ts';
import { newProtection, openKeys, openNoteKey, type PasswordOptions } from './protection.ts';
import { type RepeatOptions, repeatView, untilHeaders } from './repeat-view.ts';

export type NoteOptions = RequestOptions &
  PasswordOptions & {
    contentType?: NoteContentType;
    /** One of the service's `noteExpireOptionsSec`. */
    expireSec: number;
    /** One of the service's `noteViewOptions`. */
    maxViews: number;
    /** As the service's config has it: the length of the text is then hidden better. */
    noteMaxSize?: number | undefined;
  };

export type CreatedNote = Created & { expiresAt: string };

/** Contract: POST /api/note. */
export async function createNote(context: Context, text: string, options: NoteOptions): Promise<CreatedNote> {
  const { transport, baseUrl } = context;
  const { contentType = 'text', expireSec, maxViews, noteMaxSize, signal } = options;
  const protection = await newProtection({ password: options.password, passwordAlgo: options.passwordAlgo }, context);
  const { keys, linkSecret, said, ownerSecret, ownerToken, salt, password } = protection;
  const key = await openNoteKey(protection, protection);
  const { ciphertext, nonce } = await sealNote(key, { text, contentType }, { noteMaxSize });
  const body = JSON.stringify({
    encryptedContent: toBase64(ciphertext),
    nonce: toBase64(nonce),
    salt,
    ownerToken,
    authToken: keys.authToken,
    contentType: HIDDEN_TYPE,
    maxViews,
    expireSec,
    hasPassword: password !== undefined,
    ...password,
  });
  const { id, expiresAt } = await callJson(transport, `${baseUrl}/api/note`, {
    method: 'POST',
    body,
    read: readCreated,
    signal,
  });
  const link = await formatLink({ kind: 'note', baseUrl, id, secret: linkSecret, protection: said });
  return { kind: 'note', id, link, ownerSecret, expiresAt };
}

/** What the service is told of every note: what it is, is in there. */
const HIDDEN_TYPE = 'text';

/** Contract: GET /api/note/<id>. Spends nothing. */
export function getNoteInfo({ transport }: Context, link: Address, { signal }: RequestOptions): Promise<NoteInfo> {
  return callJson(transport, `${link.baseUrl}/api/note/${link.id}`, { method: 'GET', read: readNoteInfo, signal });
}

export type ViewedNote = NoteContent & { viewCount: number; maxViews: number };

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
    return jsonOf(answer, readView, { maxBytes: MAX_LARGE_ANSWER_BYTES, signal });
  };
  const getConfig = async () => {
    const ask = (signal: AbortSignal) => call(transport, `${link.baseUrl}/api/config`, { method: 'GET', signal });
    return jsonOf(await untilHeaders(signal, ask), readConfig, { signal });
  };
  const answer = await repeatView(send, getConfig, options);
  const [ciphertext, nonce] = [fromBase64(answer.encryptedContent), fromBase64(answer.nonce)];
  if (!ciphertext || !nonce) throw new MayflyError('tampered');
  const { viewCount, maxViews } = answer;
  return { ...(await readContent(link, info, { ciphertext, nonce })), viewCount, maxViews };
}

const readCreated = record<{ id: string; expiresAt: string }>({ id, expiresAt: time });

type ViewAnswer = { encryptedContent: string; nonce: string; viewCount: number; maxViews: number };

const readView = record<ViewAnswer>(
  { encryptedContent: text, nonce: text, viewCount: limit, maxViews: limit },
  ({ viewCount, maxViews }) => viewCount <= maxViews,
);

/** Whether the type of a note is in it: what the service says of it means nothing then. */
export function isTypeHidden({ protection }: Link): boolean {
  return protection !== undefined;
}

/** An old link is that of a note of format 1. */
async function readContent(link: Link, info: NoteInfo, message: Message): Promise<NoteContent> {
  if (isTypeHidden(link)) return readNote(await openNoteKey(link, info), message);
  const { contentType = 'text' } = info;
  const { note } = await openKeys(link, info);
  // The type is what the sender chose: a service that shows a note as something else is found out.
  return { text: await openMessage(note, `mayfly v1 note ${contentType}`, message), contentType };
}
