/** Items that became tombstones: those whose time came before their limit, and of these those that nobody used. */
export type Retired = { count: number; expired: number; unused: number };

/** Removes what is due, in batches, safe with any number of callers at once. Each resolves with how many were handled. */
export interface UploadSweep {
  /** Expired and used-up uploads without a running download become tombstones; their blobs are queued for deletion. */
  retire(limit: number, tombstoneTtlSec: number): Promise<Retired>;
  /** Uploads whose sender has vanished are removed; their blobs are queued for deletion. */
  reapAbandoned(limit: number): Promise<number>;
  /** Tombstones whose time has come are removed for good. */
  endTombstones(limit: number): Promise<number>;
  /** Blobs to delete now. Each is handed out again later unless `blobsDeleted` settles it. */
  takeDeletions(limit: number): Promise<string[]>;
}

export interface NoteSweep {
  /** Expired and used-up notes become tombstones: content, nonce and tokens are erased. */
  retire(limit: number, tombstoneTtlSec: number): Promise<Retired>;
  endTombstones(limit: number): Promise<number>;
}
