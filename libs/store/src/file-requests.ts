import type { Hooks } from './hooks.ts';
import type { GoneReason } from './uploads.ts';

/** Room that is kept for each drop: its sealed secret, and what a table needs for it. */
export const DROP_BYTES = 2_048;

/** Bytes that a request may come to hold in the tables: they count against REQUESTS_STORAGE_MAX_BYTES until it is removed or retired. */
export function heldBytes({ publicKey, greeting, maxDrops }: NewFileRequest): number {
  return publicKey.length + (greeting?.ciphertext.length ?? 0) + maxDrops * DROP_BYTES;
}

/** What asking for files records. The token arrives hashed; sizes in bytes of payloads. */
export type NewFileRequest = {
  id: string;
  ownerHash: Buffer;
  publicKey: string;
  /** What is asked for, encrypted: only who has the link can read it. */
  greeting?: { ciphertext: string; nonce: string };
  /** How many uploads may be dropped, and how many bytes they may have together. */
  maxDrops: number;
  maxBytes: number;
  /** What the uploads are to choose. */
  dropExpireSec: number;
  dropMaxDownloads: number;
  expireSec: number;
};

export type FileRequest = Omit<NewFileRequest, 'expireSec'> & {
  status: 'open' | Extract<GoneReason, 'expired'>;
  dropCount: number;
  byteCount: number;
  createdAt: Date;
  expiresAt: Date;
  /** Who is told of drops. */
  hookCount: number;
};

/** An upload for the one who asked. `enc` and `sealed` hold its secret, which only they can open. */
export type Drop = { uploadId: string; enc: string; sealed: string; bytes: number };
/** `at`: to the minute; undefined where times are not kept. */
export type ReceivedDrop = Drop & { at?: Date };

/** `no-room`: it has more bytes than are left. `gone`: the request has expired, or nobody knows it. */
export type DropVerdict = 'dropped' | 'full' | 'no-room' | 'gone';

/** Requests for files. Clock and faults as with Uploads. */
export interface FileRequests {
  /** Throws NoRoom at the ceiling of all requests. */
  add(request: NewFileRequest): Promise<{ expiresAt: Date }>;
  /** Also when it has expired, until its tombstone ends. */
  find(id: string): Promise<FileRequest | undefined>;
  /**
   * Counts the upload and records it, all or nothing, in one step: of any number at once no more are dropped than there is room for. The
   * same upload again changes nothing, and is `dropped`.
   */
  drop(id: string, drop: Drop): Promise<DropVerdict>;
  /** In the order in which they came. */
  drops(id: string): Promise<ReceivedDrop[]>;
  /** Drops from now on are told to these as well; one of a kind takes the place of the one before. False when it is not open. */
  setHooks(id: string, hooks: Hooks): Promise<boolean>;
  /** Nobody is told any more, not even of the drops that there were. */
  endHooks(id: string): Promise<void>;
  /** Deletes it in any state, with its drops; the uploads stay. False when there was none. */
  remove(id: string): Promise<boolean>;
}

export interface FileRequestSweep {
  /** Requests whose last drop may have expired become tombstones; their drops, key and greeting are erased. */
  retire(limit: number, tombstoneTtlSec: number): Promise<number>;
  endTombstones(limit: number): Promise<number>;
}
