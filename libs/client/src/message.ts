import { type Bytes, concat, randomBytes, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';

// docs/crypto.md, "Messages": what is small enough to be encrypted at once.

const NONCE_BYTES = 12;
/** Lengths are rounded up to a multiple of this. The contract allows a note 256 bytes more than its text. */
const PADDED_BYTES = 128;
const END_OF_TEXT = 0x80;

export type Message = { ciphertext: Bytes; nonce: Bytes };

/** Encrypts a text. `purpose` says what it is, so that one message cannot stand in for another. */
export async function sealMessage(key: CryptoKey, purpose: string, text: string, nonce?: Bytes): Promise<Message> {
  const bytes = utf8(text);
  return encrypt(key, purpose, pad(bytes, Math.ceil((bytes.length + 1) / PADDED_BYTES) * PADDED_BYTES), nonce);
}

/** Throws `tampered` when the key, the purpose or the message is not the one that was sealed. */
export async function openMessage(key: CryptoKey, purpose: string, message: Message): Promise<string> {
  const padded = await decrypt(key, purpose, message);
  if (padded.length % PADDED_BYTES !== 0) throw new MayflyError('tampered');
  return readText(unpad(padded, PADDED_BYTES));
}

/** Bytes that are padded already. */
export async function encrypt(key: CryptoKey, purpose: string, padded: Bytes, nonce = randomBytes(NONCE_BYTES)) {
  const ciphertext = await crypto.subtle.encrypt(parameters(nonce, purpose), key, padded);
  return { ciphertext: new Uint8Array(ciphertext), nonce } satisfies Message;
}

/** The same bytes. Throws `tampered`. */
export async function decrypt(key: CryptoKey, purpose: string, { ciphertext, nonce }: Message): Promise<Bytes> {
  if (nonce.length !== NONCE_BYTES) throw new MayflyError('tampered');
  try {
    return new Uint8Array(await crypto.subtle.decrypt(parameters(nonce, purpose), key, ciphertext));
  } catch (cause) {
    throw new MayflyError('tampered', { cause });
  }
}

function parameters(nonce: Bytes, purpose: string) {
  return { name: 'AES-GCM', iv: nonce, additionalData: utf8(purpose) };
}

/** Longer than it was by one byte at least. */
export function pad(bytes: Bytes, sizeBytes: number): Bytes {
  return concat(bytes, Uint8Array.of(END_OF_TEXT), new Uint8Array(sizeBytes - bytes.length - 1));
}

/** Throws `tampered` for what `pad` has not made, or made longer by more than so many bytes: nothing is hidden behind a text. */
export function unpad(padded: Bytes, mostBytes: number): Bytes {
  const end = padded.findLastIndex((byte) => byte !== 0);
  if (padded[end] !== END_OF_TEXT || padded.length - end > mostBytes) throw new MayflyError('tampered');
  return padded.subarray(0, end);
}

/** Throws `tampered` for what is no UTF-8. */
export function readText(bytes: Bytes): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new MayflyError('tampered', { cause });
  }
}
