import type { Bytes } from '../bytes.ts';
import { deriveBits } from '../keys.ts';
import type { NativeKey } from '../segment-key.ts';
import { TAG_BYTES } from '../size.ts';
import { release, releasing } from './release.ts';

const ALGORITHM = 'aes-256-gcm';

/**
 * Where a segment takes some twenty microseconds, WebCrypto takes five times as much: it hands each one to a thread and back. What is
 * only needed for a moment is given back at once, since the garbage collector would let megabytes of it lie about.
 */
export async function deriveNodeKey(base: CryptoKey, salt: Bytes, label: string): Promise<NativeKey> {
  const { createCipheriv, createDecipheriv } = process.getBuiltinModule('node:crypto');
  const key = await deriveBits(base, salt, label);
  const options = { authTagLength: TAG_BYTES };
  return {
    derive: deriveNodeKey,
    releasing: (ciphertext) => releasing(ciphertext, release),
    seal({ iv, additionalData }, plaintext, into) {
      const cipher = createCipheriv(ALGORITHM, key, iv, options);
      if (additionalData) cipher.setAAD(additionalData);
      const sealed = cipher.update(plaintext);
      into.set(sealed);
      release(sealed);
      cipher.final();
      into.set(cipher.getAuthTag(), plaintext.length);
    },
    open({ iv, additionalData }, ciphertext) {
      const decipher = createDecipheriv(ALGORITHM, key, iv, options);
      if (additionalData) decipher.setAAD(additionalData);
      const end = ciphertext.length - TAG_BYTES;
      decipher.setAuthTag(ciphertext.subarray(end));
      const { buffer, byteOffset, length } = decipher.update(ciphertext.subarray(0, end));
      decipher.final(); // fails unless the tag is right
      return new Uint8Array(buffer, byteOffset, length);
    },
  };
}
