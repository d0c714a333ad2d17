import { PASSWORD_ALGOS, type PasswordAlgo } from '@mayfly/vocabulary';
import { type Bytes, fromBase64url, randomBytes, toBase64url } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { deriveKeys, deriveOwnerToken, type Keys, SALT_BYTES, SECRET_BYTES } from './keys.ts';
import type { Link } from './link.ts';
import { derivePasswordKey, type PasswordCost, xorSecret } from './password.ts';

export type PasswordOptions = { password?: string | undefined; passwordAlgo?: PasswordAlgo | undefined };

/** Everything that a new upload or note begins with. */
export type Protection = {
  keys: Keys;
  /** For the link: the secret itself, or hidden by the password. */
  linkSecret: Bytes;
  ownerSecret: string;
  ownerToken: string;
  salt: string;
  password: { passwordSalt: string; passwordAlgo: PasswordAlgo } | undefined;
};

export async function newProtection(options: PasswordOptions, cost?: PasswordCost): Promise<Protection> {
  const { password, passwordAlgo = 'argon2id' } = options;
  const [secret, ownerSecret] = [randomBytes(SECRET_BYTES), randomBytes(SECRET_BYTES)];
  const [salt, passwordSalt] = [randomBytes(SALT_BYTES), randomBytes(SALT_BYTES)];
  const passwordKey =
    password === undefined ? undefined : await derivePasswordKey(password, passwordAlgo, passwordSalt, cost);
  return {
    keys: await deriveKeys(secret, salt),
    linkSecret: passwordKey ? xorSecret(secret, passwordKey) : secret,
    ownerSecret: toBase64url(ownerSecret),
    ownerToken: await deriveOwnerToken(ownerSecret),
    salt: toBase64url(salt),
    password: passwordKey ? { passwordSalt: toBase64url(passwordSalt), passwordAlgo } : undefined,
  };
}

/** What the service says about an item's protection. */
export type StoredProtection = {
  salt: string;
  hasPassword: boolean;
  passwordAlgo?: PasswordAlgo | null;
  passwordSalt?: string | null;
};

/** Whether the link's secret is the real one already. */
export function isOpen(link: Link, { hasPassword }: StoredProtection): boolean {
  return link.isUnlocked || !hasPassword;
}

/** The link with the real secret in it; whether the password was the right one is for the service to say. */
export async function unlock(
  link: Link,
  stored: StoredProtection,
  password: string | undefined,
  cost?: PasswordCost,
): Promise<Link> {
  if (isOpen(link, stored)) return link;
  if (password === undefined) throw new MayflyError('password-needed');
  const passwordAlgo = PASSWORD_ALGOS.find((known) => known === stored.passwordAlgo);
  if (!passwordAlgo) throw new MayflyError('tampered');
  const passwordKey = await derivePasswordKey(password, passwordAlgo, readSalt(stored.passwordSalt), cost);
  return { ...link, secret: xorSecret(link.secret, passwordKey), isUnlocked: true };
}

/** The keys of an item whose link is open. */
export function openKeys(link: Link, stored: StoredProtection): Promise<Keys> {
  return deriveKeys(link.secret, readSalt(stored.salt));
}

export async function ownerToken(ownerSecret: string): Promise<string> {
  const bytes = fromBase64url(ownerSecret, SECRET_BYTES);
  if (!bytes) throw new MayflyError('wrong-token', { message: 'This is not an owner secret' });
  return deriveOwnerToken(bytes);
}

function readSalt(text: string | null | undefined): Bytes {
  const salt = fromBase64url(text, SALT_BYTES);
  if (!salt) throw new MayflyError('tampered');
  return salt;
}
