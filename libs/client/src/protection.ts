import { PASSWORD_ALGOS, type PasswordAlgo } from '@mayfly/vocabulary';
import { type Bytes, fromBase64url, randomBytes, toBase64url } from './bytes.ts';
import type { Context } from './context.ts';
import type { Encryption } from './encryption.ts';
import { MayflyError } from './errors.ts';
import {
  deriveKeys,
  deriveNoteKey,
  deriveOwnerToken,
  type Keys,
  type NoteKey,
  SALT_BYTES,
  SECRET_BYTES,
  SHARE_BYTES,
} from './keys.ts';
import type { Link, LinkProtection } from './link.ts';
import { derivePasswordKey, type PasswordCost, xorSecret } from './password.ts';

export type PasswordOptions = { password?: string | undefined; passwordAlgo?: PasswordAlgo | undefined };

/** Everything that a new upload or note begins with. */
export type Protection = {
  keys: Keys;
  /** The real one. */
  secret: Bytes;
  /** For the link: the secret itself, or hidden by the password. */
  linkSecret: Bytes;
  /** What the link says of all this. */
  said: LinkProtection;
  ownerSecret: string;
  ownerToken: string;
  salt: string;
  /** For the service: what it takes besides to open the metadata, where they are sealed. */
  share: Bytes | undefined;
  password: { passwordSalt: string; passwordAlgo: PasswordAlgo } | undefined;
};

/** `sealedMetadata` means nothing without a password. */
export async function newProtection(
  { password, passwordAlgo = 'argon2id', sealedMetadata }: PasswordOptions & { sealedMetadata?: boolean | undefined },
  context: Pick<Context, 'passwordCost' | 'transport'>,
): Promise<Protection> {
  const [secret, ownerSecret] = [randomBytes(SECRET_BYTES), randomBytes(SECRET_BYTES)];
  const [salt, passwordSalt] = [randomBytes(SALT_BYTES), randomBytes(SALT_BYTES)];
  const passwordKey =
    password === undefined
      ? undefined
      : await derivePasswordKey(password, passwordAlgo, passwordSalt, context.passwordCost);
  const share = passwordKey && sealedMetadata ? randomBytes(SHARE_BYTES) : undefined;
  return {
    secret,
    keys: await deriveKeys(secret, salt, share, context.transport.encryption),
    linkSecret: passwordKey ? xorSecret(secret, passwordKey) : secret,
    said: { passwordAlgo: passwordKey && passwordAlgo, isSealed: share !== undefined },
    share,
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

/** Throws `tampered` when the service says of the password what the link does not say. An old link says nothing. */
export function compareProtection({ protection }: Link, { hasPassword, passwordAlgo }: StoredProtection): void {
  const isAsSaid = protection?.passwordAlgo === (hasPassword ? passwordAlgo : undefined);
  if (protection && !isAsSaid) {
    throw new MayflyError('tampered', { message: 'The service says something else about a password than the link' });
  }
}

/** Whether the link's secret is the real one already. Throws `tampered` like compareProtection. */
export function isOpen(link: Link, stored: StoredProtection): boolean {
  compareProtection(link, stored);
  return link.isUnlocked || !stored.hasPassword;
}

export type GivenPassword = {
  password?: string | undefined;
  /** PBKDF2 is used only for whoever has said yes to it: `weak-password-algo` otherwise. */
  allowPbkdf2?: boolean | undefined;
};

/** The link with the real secret in it; whether the password was the right one is for others to say. */
export async function unlock(
  link: Link,
  stored: StoredProtection,
  { password, allowPbkdf2 = false }: GivenPassword,
  cost?: PasswordCost,
): Promise<Link> {
  if (isOpen(link, stored)) return link;
  const passwordAlgo = PASSWORD_ALGOS.find((known) => known === stored.passwordAlgo);
  if (!passwordAlgo) throw new MayflyError('tampered');
  if (passwordAlgo === 'pbkdf2' && !allowPbkdf2) throw new MayflyError('weak-password-algo');
  if (password === undefined) throw new MayflyError('password-needed');
  const passwordKey = await derivePasswordKey(password, passwordAlgo, readSalt(stored.passwordSalt), cost);
  return { ...link, secret: xorSecret(link.secret, passwordKey), isUnlocked: true };
}

/** The keys of an item whose link is open. */
export function openKeys(link: Link, stored: StoredProtection, encryption?: Encryption): Promise<Keys> {
  return deriveKeys(link.secret, readSalt(stored.salt), link.share, encryption);
}

/** The same for a note of format 2. */
export function openNoteKey(
  { secret }: Pick<Link, 'secret'>,
  { salt }: Pick<StoredProtection, 'salt'>,
): Promise<NoteKey> {
  return deriveNoteKey(secret, readSalt(salt));
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
