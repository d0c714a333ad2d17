import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_MLKEM768_X25519 } from 'hpke';
import { MayflyError } from './errors.ts';

// Loaded with the first file request.

export type Suite = CipherSuite;

/** HPKE with what the browser or Node has itself. Works where `hasKem` says so. */
export function nativeSuite(): Suite {
  return new CipherSuite(KEM_MLKEM768_X25519, KDF_HKDF_SHA256, AEAD_AES_256_GCM);
}

/** The same with the key encapsulation in JavaScript. */
export async function portableSuite(): Promise<Suite> {
  const { KEM_MLKEM768_X25519: portable } = await import('./portable-kem.ts');
  return new CipherSuite(portable, KDF_HKDF_SHA256, AEAD_AES_256_GCM);
}

/** Whether all that requests need is there. Chromium 156 says of this KEM that it is supported, and derives no keys from a seed. */
async function works(suite: Suite): Promise<boolean> {
  try {
    const { privateKey, publicKey } = await suite.DeriveKeyPair(new Uint8Array(32), false);
    const known = await suite.DeserializePublicKey(await suite.SerializePublicKey(publicKey));
    const { encapsulatedSecret, ciphertext } = await suite.Seal(known, new Uint8Array(1));
    await suite.Open({ privateKey, publicKey }, encapsulatedSecret, ciphertext);
    return true;
  } catch {
    return false; // one of the steps is not there
  }
}

let suite: Promise<Suite> | undefined;

/** Throws `insecure-context`. */
export async function openSuite(): Promise<Suite> {
  // Browsers hide WebCrypto from pages that came over plain HTTP.
  if (!crypto.subtle) throw new MayflyError('insecure-context');
  suite ??= works(nativeSuite()).then((isNative) => (isNative ? nativeSuite() : portableSuite()));
  suite.catch(() => {
    suite = undefined; // its code did not come
  });
  return suite;
}
