import type { ByteRange } from './blobs.ts';
import type { AvailableUpload } from './uploads.ts';

/** A download that may be cut and continued. `tokenHash`: SHA-256 of the token that its recipient has chosen. */
export type LeaseKey = { id: string; tokenHash: Buffer };

/** What a lease is worth when it is opened. */
export type LeaseTerms = {
  /** So long after the last range, and after the upload's expiry, it ends. */
  idleSec: number;
  /** So long after it was opened it ends, whatever is read. */
  longestSec: number;
  /** What may be read under it in all. */
  budgetBytes: number;
  /** So often a range may be asked for while another one is not known to be over, before its bytes have to be there. */
  cuts: number;
  /** What may have been on its way to a recipient who goes on before the end of a range: it does not count. */
  lostBytes: number;
  /** So much of that in all. */
  forgivenBytes: number;
  /** Ranges that may be read at once; as many are remembered. */
  ranges: number;
  /** The recipient goes on with a lease: none is opened. */
  isContinued?: boolean;
  /** The recipient says that nothing has arrived of a recent range that begins where this one does. */
  isRepeated?: boolean;
};

/** `count`: of downloads, with this one; absent when the lease had been opened before. */
export type TakenRange = { count?: number; endsAt: Date };

/** What there is of a lease. */
export type LeaseRecord = {
  id: string;
  bytesLeft: number;
  cutsLeft: number;
  forgivenLeft: number;
  openRanges: number;
  /** The latest first. */
  recentRanges: ByteRange[];
  sentBytes: number;
  endsAt: number;
  hardEndsAt: number;
};

/** What is under lease although it is used up or expired by now. */
export type LeasedUpload = { authHash: Buffer; sizeBytes: number; fileCount: number };

/**
 * Downloads that count once and can be cut anywhere. A lease counts when it is opened; one under which no byte was sent gives that back when
 * it ends. While there is a lease the payload stays. Every method is one step that happens or does not, and rejects with Unavailable when
 * the store cannot be reached.
 */
export interface DownloadLeases {
  /**
   * Takes a range from what may be read under the lease, and opens it where there is none yet: whoever had no answer may ask
   * again under the same token. Where it begins within a recent range, or repeats one, the rest of that is given back. While a range is under way, which
   * may have broken off unnoticed, bytes that are missing cost one of the cuts. `ended` when its time or its bytes are over, `busy` when too
   * many ranges are under way, `gone` when no download is left for a new one, or none is wanted.
   */
  take(key: LeaseKey, range: ByteRange, terms: LeaseTerms): Promise<TakenRange | 'ended' | 'busy' | 'gone'>;
  /** The upload under a lease that has not ended, in whatever state it is; undefined where there is none. */
  find(key: LeaseKey): Promise<LeasedUpload | undefined>;
  /** All that can be known of the same upload. */
  describe(key: LeaseKey): Promise<AvailableUpload | undefined>;
  /** A range is being read: the lease lasts at least so long from now. */
  renew(key: LeaseKey, seconds: number): Promise<void>;
  /** A range has ended, and the lease goes on from now. What was not sent of it is given back. */
  settle(key: LeaseKey, unsentBytes: number, idleSec: number): Promise<void>;
  /** The recipient has all, which is counted for the owner, or wants no more. Does nothing where there is no such lease. */
  end(key: LeaseKey, isWhole: boolean): Promise<void>;
}
