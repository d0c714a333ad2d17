export type PasswordAlgo = 'argon2id' | 'pbkdf2';

/** Present when the item is protected by a password. Both are public: the recipient's client needs them. */
export type Password = { algo: PasswordAlgo; salt: string };

/** Why an item is no longer available. Contract: States and transitions. */
export type GoneReason = 'expired' | 'limit_reached';

/** What creating an upload records. Tokens arrive hashed; sizes in bytes. */
export type NewUpload = {
  id: string;
  authHash: Buffer;
  ownerHash: Buffer;
  salt: string;
  sizeBytes: number;
  fileCount: number;
  password?: Password;
  maxDownloads: number;
  expireSec: number;
};

/** `share`: where they are sealed, what it takes besides the secret to open them. Only for whoever knows the auth token. */
export type EncryptedMeta = { encryptedMeta: string; nonce: string; share?: string };

export type AvailableUpload = Omit<NewUpload, 'expireSec'> & {
  status: 'available';
  meta?: EncryptedMeta;
  downloadCount: number;
  createdAt: Date;
  expiresAt: Date;
};

/** Expired or used up, swept or not: what is left to know. The owner can still delete it. */
export type GoneUpload = { id: string; status: GoneReason; ownerHash: Buffer; hasPassword: boolean };

export type Upload = AvailableUpload | GoneUpload;

/**
 * The table of uploads. One clock decides about expiry: the store's. Every method rejects with Unavailable when the store
 * cannot be reached, and then nothing has changed.
 */
export interface Uploads {
  /**
   * Records an upload whose body is on its way. No other method but these four and the sweep sees it until `publish`. Rejects
   * with NoRoom when it does not fit below the ceiling of all uploads; what it holds is free again when its blob is deleted.
   */
  begin(upload: NewUpload, leaseSec: number): Promise<void>;
  /** Keeps the sweep away from an upload on its way, or from one that is being downloaded, for so long from now. */
  renewLease(id: string, leaseSec: number): Promise<void>;
  /**
   * Makes a complete upload available; its lifetime begins now. False when it was reaped meanwhile. One that is available
   * already stays as it is, and that is true: whoever had no answer may ask again.
   */
  publish(id: string): Promise<boolean>;
  /** Takes an upload on its way back and queues its blob for deletion. */
  abandon(id: string): Promise<void>;

  find(id: string): Promise<Upload | undefined>;
  /** Stores the metadata, once. False when it was there already or the upload is no longer available. */
  setMeta(id: string, meta: EncryptedMeta): Promise<boolean>;
  /**
   * Counts one download, leases the blob, and resolves with the count now; 0 when none is left or the upload has gone. With a lease
   * of 0 seconds nobody reads the blob any more: the sweep need not wait.
   */
  claimDownload(id: string, leaseSec: number): Promise<number>;
  /** A download that was claimed is over, whatever became of it: one less keeps the sweep away. Whole ones are counted for the owner. */
  release(id: string, isWhole: boolean): Promise<void>;
  /** Gives back a download that the service failed to deliver. */
  returnDownload(id: string): Promise<void>;
  /** Deletes the record in any state and queues its blob for deletion. False when there was none. */
  remove(id: string): Promise<boolean>;

  /** A queued deletion is settled: the blob has gone. */
  blobsDeleted(ids: string[]): Promise<void>;
  /** Resolves when the table can be used now. */
  check(): Promise<void>;
}
