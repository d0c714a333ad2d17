import { randomBytes, toBase64url } from './bytes.ts';

const LEASE_BYTES = 32;

/** The name of one download, new and random: 43 characters of base64url. Whoever keeps it can go on with this download. */
export function newLease(): string {
  return toBase64url(randomBytes(LEASE_BYTES));
}
