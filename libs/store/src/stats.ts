/** Items of one state, and the bytes of ciphertext that they have; tombstones have none. */
export type Held = { state: string; count: number; bytes: number };

export type Stats = {
  /** By state, every state named: `pending`, `available`, `expired`, `limit_reached`. */
  uploads: Held[];
  /** The same without `pending`. */
  notes: Held[];
  /** A table was too large to be counted whole: its figures are scaled up from a sample. */
  isEstimated: boolean;
  /** For how long what has waited longest for the sweep has waited, in seconds; 0 when nothing is due. */
  oldestDueSec: { upload: number; note: number; blob: number };
  /** Blobs that are queued for deletion, counted up to 100,000. */
  blobDeletions: number;
};

/** What the tables hold. A look costs about the same whatever their size. Rejects with Unavailable. */
export interface StoreStats {
  read(): Promise<Stats>;
}
