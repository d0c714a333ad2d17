import { bytes, count, limit, orNull, text, time } from './fields.ts';

/** What senders and whoever asked are both told about a file request. Contract 15. */
export type RequestTerms = {
  maxDrops: number;
  dropsLeft: number;
  /** Encrypted. */
  maxBytes: number;
  bytesLeft: number;
  /** What each drop is uploaded with. */
  dropExpireSec: number;
  dropMaxDownloads: number;
  /** ISO 8601. */
  expiresAt: string;
};

/** Readers of these, and of the encrypted greeting. */
export const termsFields = {
  maxDrops: limit,
  dropsLeft: count,
  maxBytes: bytes,
  bytesLeft: bytes,
  dropExpireSec: limit,
  dropMaxDownloads: limit,
  expiresAt: time,
  greeting: orNull(text),
  nonce: orNull(text),
};
