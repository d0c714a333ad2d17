import { createHash } from 'node:crypto';
import { invalidRequest } from '@mayfly/shared/errors';

const SHA_256 = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/]{43}=):/;

/** The bytes are not those that the sender's digest is of. Nothing was stored. */
export class DigestMismatch extends Error {
  override name = 'DigestMismatch';
}

/** The SHA-256 in a `Content-Digest` (RFC 9530); undefined without one, 400 when there is none in it. */
export function readDigest(header: string | string[] | undefined): Buffer | undefined {
  if (header === undefined) return undefined;
  const [, digest] = SHA_256.exec(String(header)) ?? [];
  if (digest === undefined) throw invalidRequest({ 'Content-Digest': ['must have sha-256=:base64 of 32 bytes:'] });
  return Buffer.from(digest, 'base64');
}

/** The body as it comes; it fails at its end when it is not what the digest is of. */
export async function* ofDigest(body: AsyncIterable<Buffer>, digest: Buffer): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
  if (!hash.digest().equals(digest)) throw new DigestMismatch();
}
