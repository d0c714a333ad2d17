import { type Bytes, toBase64url, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';

// docs/crypto.md, "Keys". A label is never used for two things.

export const SECRET_BYTES = 32;
export const SALT_BYTES = 16;
const KEY_BITS = 256;

export type Keys = {
  /** Encrypts the segments of the payload. */
  file: CryptoKey;
  /** Encrypts the metadata. */
  metadata: CryptoKey;
  /** Encrypts a note. */
  note: CryptoKey;
  /** 43 characters of base64url that show the service who knows the secret. */
  authToken: string;
};

/** The keys of an upload or a note. The secret is the real one, not the protected one of a link with a password. */
export async function deriveKeys(secret: Bytes, salt: Bytes): Promise<Keys> {
  const base = await hkdfKey(secret);
  const aes = { name: 'AES-GCM', length: KEY_BITS };
  const cipher = (label: string) =>
    crypto.subtle.deriveKey(hkdf(salt, label), base, aes, false, ['encrypt', 'decrypt']);
  const hmac = { name: 'HMAC', hash: 'SHA-256', length: KEY_BITS };
  const [file, metadata, note, auth] = await Promise.all([
    cipher('mayfly v1 file key'),
    cipher('mayfly v1 metadata key'),
    cipher('mayfly v1 note key'),
    crypto.subtle.deriveKey(hkdf(salt, 'mayfly v1 auth key'), base, hmac, false, ['sign']),
  ]);
  const mac = await crypto.subtle.sign('HMAC', auth, utf8('mayfly v1 auth token'));
  return { file, metadata, note, authToken: toBase64url(new Uint8Array(mac)) };
}

/** The owner token of an owner secret, which has nothing to do with the secret in the link. */
export async function deriveOwnerToken(ownerSecret: Bytes): Promise<string> {
  const base = await hkdfKey(ownerSecret);
  const token = await crypto.subtle.deriveBits(hkdf(new Uint8Array(0), 'mayfly v1 owner token'), base, KEY_BITS);
  return toBase64url(new Uint8Array(token));
}

/** Encrypts a file under a passphrase. Not for items: a password key used as a secret would be guessed. */
export async function derivePassphraseFileKey(passwordKey: Bytes, salt: Bytes): Promise<CryptoKey> {
  const base = await hkdfKey(passwordKey);
  const aes = { name: 'AES-GCM', length: KEY_BITS };
  return crypto.subtle.deriveKey(hkdf(salt, 'mayfly v1 passphrase file key'), base, aes, false, ['encrypt', 'decrypt']);
}

function hkdfKey(secret: Bytes): Promise<CryptoKey> {
  // Browsers hide WebCrypto from pages that came over plain HTTP.
  if (!crypto.subtle) throw new MayflyError('insecure-context');
  return crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey', 'deriveBits']);
}

function hkdf(salt: Bytes, label: string) {
  return { name: 'HKDF', hash: 'SHA-256', salt, info: utf8(label) };
}
