import { NOTE_CONTENT_TYPES, type NoteContentType } from '@mayfly/vocabulary';
import { type Bytes, concat, equal, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { COMMITMENT_BYTES, type NoteKey } from './keys.ts';
import { decrypt, encrypt, type Message, pad, readText, unpad } from './message.ts';
import { TAG_BYTES } from './size.ts';

// docs/crypto.md, "Notes of format 2".

const PURPOSE = 'mayfly v2 note';
/** What the contract takes of a note beyond the service's limit. */
const BEYOND_LIMIT_BYTES = 256;
const PADDED_BYTES = 1024;
/** Where nobody has said what the service takes: then a note that it takes is never longer by more than it allows. */
const LEAST_PADDED_BYTES = 128;

export type NoteContent = { text: string; contentType: NoteContentType };

/** `noteMaxSize`: as the service's config has it. */
export async function sealNote(
  { key, commitment }: NoteKey,
  { text, contentType }: NoteContent,
  { noteMaxSize, nonce }: { noteMaxSize?: number | undefined; nonce?: Bytes } = {},
): Promise<Message> {
  const bytes = concat(utf8(`${contentType}\0`), utf8(text));
  const message = await encrypt(key, PURPOSE, pad(bytes, paddedSize(bytes.length + 1, noteMaxSize)), nonce);
  return { ...message, ciphertext: concat(commitment, message.ciphertext) };
}

/** Throws `tampered`. A type that only a newer Mayfly knows is a text: the view is spent, and this is what was written. */
export async function readNote({ key, commitment }: NoteKey, { ciphertext, nonce }: Message): Promise<NoteContent> {
  // Found before anything is decrypted under another key.
  if (!equal(ciphertext.subarray(0, COMMITMENT_BYTES), commitment)) throw new MayflyError('tampered');
  const sealed = { ciphertext: ciphertext.subarray(COMMITMENT_BYTES), nonce };
  const bytes = unpad(await decrypt(key, PURPOSE, sealed), PADDED_BYTES);
  const end = bytes.indexOf(0);
  const type = readText(bytes.subarray(0, Math.max(end, 0)));
  if (!/^[a-z0-9-]{1,32}$/.test(type)) throw new MayflyError('tampered');
  const contentType = NOTE_CONTENT_TYPES.find((known) => known === type) ?? 'text';
  return { text: readText(bytes.subarray(end + 1)), contentType };
}

/** Up to the next multiple, as far as the service takes it. */
function paddedSize(leastBytes: number, noteMaxSize?: number): number {
  if (noteMaxSize === undefined) return Math.ceil(leastBytes / LEAST_PADDED_BYTES) * LEAST_PADDED_BYTES;
  const mostBytes = noteMaxSize + BEYOND_LIMIT_BYTES - COMMITMENT_BYTES - TAG_BYTES;
  return Math.max(leastBytes, Math.min(Math.ceil(leastBytes / PADDED_BYTES) * PADDED_BYTES, mostBytes));
}
