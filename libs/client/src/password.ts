import type { PasswordAlgo } from '@mayfly/vocabulary';
import { type Bytes, utf8 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { SECRET_BYTES } from './keys.ts';

// docs/crypto.md, "Password".

export type PasswordCost = {
  argon2id: { memoryKiB: number; passes: number };
  pbkdf2: { iterations: number };
};

/** Part of the format: the service stores the algorithm's name and the salt, and no numbers. */
export const PASSWORD_COST: PasswordCost = {
  argon2id: { memoryKiB: 64 * 1024, passes: 3 },
  pbkdf2: { iterations: 600_000 },
};

/** The password key, which hides the secret in a link. Takes about half a second, on purpose. */
export async function derivePasswordKey(
  password: string,
  algo: PasswordAlgo,
  salt: Bytes,
  cost = PASSWORD_COST,
): Promise<Bytes> {
  // The same characters typed on another system may be other code points (RFC 8265, OpaqueString).
  const bytes = utf8(password.normalize('NFC'));
  if (bytes.length === 0) throw new MayflyError('invalid-request', { message: 'The password is empty' });
  return algo === 'argon2id' ? argon2id(bytes, salt, cost.argon2id) : pbkdf2(bytes, salt, cost.pbkdf2);
}

/** Hides a secret, or brings it back. */
export function xorSecret(secret: Bytes, passwordKey: Bytes): Bytes {
  return secret.map((byte, index) => byte ^ (passwordKey[index] ?? 0));
}

async function argon2id(password: Bytes, salt: Bytes, cost: PasswordCost['argon2id']): Promise<Bytes> {
  // Only who needs it loads it: WebCrypto has no Argon2.
  const { argon2id } = await import('hash-wasm');
  const key = await argon2id({
    password,
    salt,
    memorySize: cost.memoryKiB,
    iterations: cost.passes,
    parallelism: 1,
    hashLength: SECRET_BYTES,
    outputType: 'binary',
  });
  return new Uint8Array(key);
}

async function pbkdf2(password: Bytes, salt: Bytes, { iterations }: PasswordCost['pbkdf2']): Promise<Bytes> {
  const key = await crypto.subtle.importKey('raw', password, 'PBKDF2', false, ['deriveBits']);
  const bits = await crypto.subtle.deriveBits(
    { name: 'PBKDF2', hash: 'SHA-256', salt, iterations },
    key,
    SECRET_BYTES * 8,
  );
  return new Uint8Array(bits);
}
