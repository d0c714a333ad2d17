import { type Bytes, toBase64url, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import type { DeriveSegmentKey, SegmentKey } from './segment-key.ts';

// docs/crypto.md, "Keys". A label is never used for two things.

export const SECRET_BYTES = 32;
export const SALT_BYTES = 16;
export const COMMITMENT_BYTES = 32;
export const SHARE_BYTES = 32;
const KEY_BITS = 256;
export const NO_SALT = new Uint8Array(0);

export type Keys = {
  /** Encrypts the segments of a payload of format 1. */
  file: SegmentKey;
  /** From it come the keys of a payload in parts. */
  payload: CryptoKey;
  /** Encrypts the metadata. */
  metadata: CryptoKey;
  /** Encrypts a note of format 1. */
  note: CryptoKey;
  /** 43 characters of base64url that show the service who knows the secret. */
  authToken: string;
};

/**
 * The keys of an upload or a note. The secret is the real one, not the protected one of a link with a password. With a share the metadata
 * key is that of sealed metadata.
 */
export async function deriveKeys(
  secret: Bytes,
  salt: Bytes,
  share?: Bytes,
  { derive = deriveCipherKey }: { derive?: DeriveSegmentKey } = {},
): Promise<Keys> {
  const base = await hkdfKey(secret);
  const hmac = { name: 'HMAC', hash: 'SHA-256', length: KEY_BITS };
  const [file, payload, metadata, note, auth] = await Promise.all([
    derive(base, salt, 'mayfly v1 file key'),
    deriveBits(base, salt, 'mayfly v2 payload key').then(hkdfKey),
    share
      ? deriveCipherKey(base, share, 'mayfly v2 sealed metadata key')
      : deriveCipherKey(base, salt, 'mayfly v1 metadata key'),
    deriveCipherKey(base, salt, 'mayfly v1 note key'),
    crypto.subtle.deriveKey(hkdf(salt, 'mayfly v1 auth key'), base, hmac, false, ['sign']),
  ]);
  const mac = await crypto.subtle.sign('HMAC', auth, utf8('mayfly v1 auth token'));
  return { file, payload, metadata, note, authToken: toBase64url(new Uint8Array(mac)) };
}

/** Encrypts a note of format 2. No other secret and salt have this commitment, which tells nothing about the key. */
export type NoteKey = { key: CryptoKey; commitment: Bytes };

export async function deriveNoteKey(secret: Bytes, salt: Bytes): Promise<NoteKey> {
  const base = await hkdfKey(secret);
  const [key, commitment] = await Promise.all([
    deriveCipherKey(base, salt, 'mayfly v2 note key'),
    deriveBits(base, salt, 'mayfly v2 note key commitment'),
  ]);
  return { key, commitment };
}

/** The owner token of an owner secret, which has nothing to do with the secret in the link. */
export async function deriveOwnerToken(ownerSecret: Bytes): Promise<string> {
  return toBase64url(await deriveBits(await hkdfKey(ownerSecret), NO_SALT, 'mayfly v1 owner token'));
}

/** Of the key of one encryption of one part. The part's header as salt binds it to all that the header says. */
export const PART_KEY = 'mayfly v2 part key';

/** 32 bytes that no other payload key has, and that tell nothing about this one. */
export function deriveKeyCommitment(payloadKey: CryptoKey): Promise<Bytes> {
  return deriveBits(payloadKey, NO_SALT, 'mayfly v2 key commitment');
}

/** Encrypts a file under a passphrase. Not for items: a password key used as a secret would be guessed. */
export async function derivePassphraseFileKey(passwordKey: Bytes, salt: Bytes): Promise<CryptoKey> {
  return deriveCipherKey(await hkdfKey(passwordKey), salt, 'mayfly v1 passphrase file key');
}

/** What keys are derived from. */
export function hkdfKey(secret: Bytes): Promise<CryptoKey> {
  // Browsers hide WebCrypto from pages that came over plain HTTP.
  if (!crypto.subtle) throw new MayflyError('insecure-context');
  return crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey', 'deriveBits']);
}

export function deriveCipherKey(base: CryptoKey, salt: Bytes, label: string): Promise<CryptoKey> {
  const aes = { name: 'AES-GCM', length: KEY_BITS };
  return crypto.subtle.deriveKey(hkdf(salt, label), base, aes, false, ['encrypt', 'decrypt']);
}

/** 32 bytes. */
export async function deriveBits(base: CryptoKey, salt: Bytes, label: string): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.deriveBits(hkdf(salt, label), base, KEY_BITS));
}

function hkdf(salt: Bytes, label: string) {
  return { name: 'HKDF', hash: 'SHA-256', salt, info: utf8(label) };
}
