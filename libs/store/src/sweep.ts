/** Items that became tombstones: those whose time came before their limit, and of these those that nobody used. */
export type Retired = { count: number; expired: number; unused: number };

/** Removes what is due, in batches, safe with any number of callers at once. Each resolves with how many were handled. */
export interface UploadSweep {
  /** Leases that have ended are removed; those under which no byte was sent give their download back. */
  endLeases(limit: number): Promise<number>;
  /** Expired and used-up uploads without a running download or a lease become tombstones; their blobs are queued for deletion. */
  retire(limit: number, tombstoneTtlSec: number): Promise<Retired>;
  /** Uploads whose sender has vanished are removed, and sessions that have ended; their blobs are queued for deletion. */
  reapAbandoned(limit: number): Promise<number>;
  /** Tombstones whose time has come are removed for good. */
  endTombstones(limit: number): Promise<number>;
  /** Blobs to delete now. Each is handed out again later unless `blobsDeleted` settles it. */
  takeDeletions(limit: number): Promise<string[]>;
  /** Those of the queued deletions of which the blob store may have parts. */
  partedDeletions(ids: string[]): Promise<PartedDeletion[]>;
  /** Forgets the parts of an upload that is no more. */
  partsDeleted(id: string): Promise<void>;
}

/** `isRepeated`: it was tried before, so that no part can have been under way all the time. */
export type PartedDeletion = { id: string; storeRef: string; isRepeated: boolean };

export interface NoteSweep {
  /** Expired and used-up notes become tombstones: content, nonce and tokens are erased. */
  retire(limit: number, tombstoneTtlSec: number): Promise<Retired>;
  endTombstones(limit: number): Promise<number>;
}
