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

/** WICG, Modern Algorithms in the Web Cryptography API. */
type Supports = { supports?: (operation: string, algorithm: string) => boolean };

function hasKem(): boolean {
  return (globalThis.SubtleCrypto as Supports | undefined)?.supports?.('generateKey', 'MLKEM768-X25519') ?? false;
}

/** Throws `insecure-context`. */
export async function openSuite(): Promise<Suite> {
  // Browsers hide WebCrypto from pages that came over plain HTTP.
  if (!crypto.subtle) throw new MayflyError('insecure-context');
  return hasKem() ? nativeSuite() : portableSuite();
}
