import type { KeyPair } from 'hpke';
import { type Bytes, concat, toBase64url, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import type { Suite } from './hpke.ts';
import { deriveBits, deriveCipherKey, hkdfKey, NO_SALT, SECRET_BYTES } from './keys.ts';
import { type Link, protectionByte, readProtection } from './link.ts';

// docs/crypto.md, "File requests".

export const PUBLIC_KEY_BYTES = 1216;
const VERSION = 1;
const ENC_BYTES = 1 + 1120;

/** What comes from the seed of a file request. */
export type RequestKeys = {
  keyPair: KeyPair;
  publicKey: Bytes;
  /** What the link to give away carries. */
  keyHash: Bytes;
  ownerToken: string;
};

export async function deriveRequestKeys(suite: Suite, seed: Bytes): Promise<RequestKeys> {
  const keyPair = await suite.DeriveKeyPair(seed, false);
  const publicKey = new Uint8Array(await suite.SerializePublicKey(keyPair.publicKey));
  const ownerToken = toBase64url(await deriveBits(await hkdfKey(seed), NO_SALT, 'mayfly v1 request owner token'));
  return { keyPair, publicKey, keyHash: await hashKey(publicKey), ownerToken };
}

/** 32 bytes that no other public key has. */
export async function hashKey(publicKey: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', concat(utf8('mayfly v1 request key'), publicKey)));
}

/** Encrypts what a request says: whoever has its link has the hash of its public key. */
export async function deriveGreetingKey(keyHash: Bytes): Promise<CryptoKey> {
  return deriveCipherKey(await hkdfKey(keyHash), NO_SALT, 'mayfly v1 request greeting key');
}

/** What a drop seals: what opens the upload, as its link says it. */
export type DroppedSecret = Pick<Link, 'secret'> & { protection: NonNullable<Link['protection']> };
export type Sealed = { enc: Bytes; sealed: Bytes };
type Place = { requestId: string; uploadId: string };

/** For the owner of the request alone, for this request and this upload. Throws `bad-answer` for what is no public key. */
export async function sealSecret(suite: Suite, publicKey: Bytes, place: Place, secret: DroppedSecret): Promise<Sealed> {
  const key = await suite.DeserializePublicKey(publicKey).catch((cause) => {
    throw new MayflyError('bad-answer', { cause });
  });
  const plaintext = concat(secret.secret, Uint8Array.of(protectionByte(secret.protection)));
  const { encapsulatedSecret, ciphertext } = await suite.Seal(key, plaintext, context(place));
  return { enc: concat(Uint8Array.of(VERSION), encapsulatedSecret), sealed: new Uint8Array(ciphertext) };
}

/** Throws `newer-format`, and `tampered` for what nobody has sealed for this request and this upload. */
export async function openSecret(
  suite: Suite,
  { keyPair }: Pick<RequestKeys, 'keyPair'>,
  place: Place,
  { enc, sealed }: Sealed,
): Promise<DroppedSecret> {
  if (enc[0] !== undefined && enc[0] !== VERSION) throw new MayflyError('newer-format');
  if (enc.length !== ENC_BYTES) throw new MayflyError('tampered');
  const plaintext = await suite.Open(keyPair, enc.subarray(1), sealed, context(place)).catch((cause) => {
    throw new MayflyError('tampered', { cause });
  });
  const [secret, byte] = [new Uint8Array(plaintext.subarray(0, SECRET_BYTES)), plaintext[SECRET_BYTES]];
  if (plaintext.length !== SECRET_BYTES + 1 || byte === undefined) throw new MayflyError('tampered');
  return { secret, protection: readProtection(byte, 'upload') };
}

function context({ requestId, uploadId }: Place) {
  return { info: utf8(`mayfly v1 file request${requestId}`), aad: utf8(uploadId) };
}
