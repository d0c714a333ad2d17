import { type Bytes, concat, randomBytes, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';

// docs/crypto.md, "Messages": what is small enough to be encrypted at once.

const NONCE_BYTES = 12;
/** Lengths are rounded up to a multiple of this. The contract allows a note 256 bytes more than its text. */
const PADDED_BYTES = 128;
const END_OF_TEXT = 0x80;

export type Message = { ciphertext: Bytes; nonce: Bytes };

/** Encrypts a text. `purpose` says what it is, so that one message cannot stand in for another. */
export async function sealMessage(key: CryptoKey, purpose: string, text: string, nonce = randomBytes(NONCE_BYTES)) {
  const ciphertext = await crypto.subtle.encrypt(parameters(nonce, purpose), key, pad(utf8(text)));
  return { ciphertext: new Uint8Array(ciphertext), nonce } satisfies Message;
}

/** Throws `tampered` when the key, the purpose or the message is not the one that was sealed. */
export async function openMessage(key: CryptoKey, purpose: string, { ciphertext, nonce }: Message): Promise<string> {
  try {
    const padded = await crypto.subtle.decrypt(parameters(nonce, purpose), key, ciphertext);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(unpad(new Uint8Array(padded)));
  } catch (cause) {
    throw new MayflyError('tampered', { cause });
  }
}

function parameters(nonce: Bytes, purpose: string) {
  return { name: 'AES-GCM', iv: nonce, additionalData: utf8(purpose) };
}

function pad(text: Bytes): Bytes {
  const sizeBytes = Math.ceil((text.length + 1) / PADDED_BYTES) * PADDED_BYTES;
  return concat(text, Uint8Array.of(END_OF_TEXT), new Uint8Array(sizeBytes - text.length - 1));
}

function unpad(padded: Bytes): Bytes {
  const end = padded.findLastIndex((byte) => byte !== 0);
  if (padded[end] !== END_OF_TEXT) throw new Error('the padding has no beginning');
  return padded.subarray(0, end);
}
