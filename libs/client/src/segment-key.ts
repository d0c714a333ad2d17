import type { Bytes } from './bytes.ts';

/** What AES-256-GCM takes besides key and text. */
export type SegmentParameters = { name: string; iv: Bytes; tagLength: number; additionalData?: Bytes };

/** A key of a platform that has something quicker than WebCrypto. */
export type NativeKey = {
  /** Ciphertext and tag, written into a buffer that is just as long. */
  seal(parameters: SegmentParameters, plaintext: Bytes, into: Bytes): void;
  /** Fails unless the tag is right. */
  open(parameters: SegmentParameters, ciphertext: Bytes): Bytes;
  /** The same ciphertext. The memory of a chunk is given back when the next one is asked for. */
  releasing(ciphertext: ReadableStream<Uint8Array>): ReadableStream<Uint8Array>;
  /** Makes others of its kind. */
  derive: DeriveSegmentKey;
};

/** Encrypts and decrypts segments. */
export type SegmentKey = CryptoKey | NativeKey;

/** The key that HKDF makes of a base key, a salt and a label. */
export type DeriveSegmentKey = (base: CryptoKey, salt: Bytes, label: string) => Promise<SegmentKey>;
