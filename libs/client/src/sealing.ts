import { type Bytes, toBase64, toBase64url } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { flag, optional, record } from './fields.ts';
import type { Keys } from './keys.ts';
import { type Metadata, sealMetadata } from './metadata.ts';

/** What the service is sent: the encrypted metadata, and the share that opens them where they are sealed. */
export type Description = { encryptedMeta: string; nonce: string; share?: string };

export async function describe(
  { metadata: key }: Pick<Keys, 'metadata'>,
  share: Bytes | undefined,
  metadata: Metadata,
): Promise<Description> {
  const { ciphertext, nonce } = await sealMetadata(key, metadata, share !== undefined);
  const sealed = share ? { share: toBase64url(share) } : {};
  return { encryptedMeta: toBase64(ciphertext), nonce: toBase64(nonce), ...sealed };
}

type Stored = { isSealed?: boolean };

/** What the service says to whoever has sent a share. */
export const readSealed = record<Stored>({ isSealed: optional(flag) });

/** A service of before drops the share, and then nobody can open the metadata. Throws `unavailable`. */
export function assertSealed({ isSealed }: Stored): void {
  if (isSealed) return;
  throw new MayflyError('unavailable', { message: 'The service has not kept what opens the names of this upload' });
}
