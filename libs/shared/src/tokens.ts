import { createHash, timingSafeEqual } from 'node:crypto';

/** What is stored of a token: its SHA-256. Padding does not belong to the token. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token.replace(/=+$/, '')).digest();
}

/** Whether the token is the one that was stored, in constant time. Contract: Authentication, 1. */
export function tokenMatches(token: string | string[] | undefined, storedHash: Buffer): boolean {
  return typeof token === 'string' && timingSafeEqual(hashToken(token), storedHash);
}
