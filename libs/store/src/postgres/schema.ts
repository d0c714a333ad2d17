import type { ColumnType, Generated } from 'kysely';
import type { ContentType } from '../notes.ts';
import type { GoneReason, PasswordAlgo } from '../uploads.ts';

type Time = ColumnType<Date, Date | undefined, Date>;

/** `pending`: its body is on its way. `expired`, `limit_reached`: a tombstone, left by the sweep. */
export type UploadState = 'pending' | 'available' | GoneReason;
export type NoteState = 'available' | GoneReason;

type Item<State> = {
  id: string;
  state: State;
  owner_hash: Buffer;
  auth_hash: Buffer | null;
  salt: string | null;
  has_password: boolean;
  password_algo: PasswordAlgo | null;
  password_salt: string | null;
  expires_at: Time;
  created_at: Time;
  /** When the sweep has something to do with the row, leases aside. */
  due_at: Time;
  /** What it counts for in the table of what is stored; 0 when it was made without a ceiling. */
  held_bytes: Generated<number>;
};

export type UploadsTable = Item<UploadState> & {
  size: number;
  file_count: number;
  encrypted_meta: string | null;
  nonce: string | null;
  download_count: Generated<number>;
  max_downloads: number;
  leased_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** When a comparison missed its blob; null again when one has found it. */
  lost_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
};

/** One row: the marker that the blob store bears, and since when it does. */
export type BlobStoreTable = { id: string; marked_at: Date | null };

export type BlobDeletionsTable = {
  id: string;
  due_at: Time;
  attempts: Generated<number>;
  held_bytes: Generated<number>;
};

/** One row: how many bytes are held by those that count. */
export type StorageTable = { only_row: Generated<boolean>; bytes: Generated<number> };

export type NotesTable = Item<NoteState> & {
  content_type: ContentType;
  encrypted_content: string | null;
  nonce: string | null;
  view_count: Generated<number>;
  max_views: number;
  /** By the hash of its key: the count of each view that can be repeated, and until when. Decision 89. */
  recent_views: unknown;
  /** When the last of them ends; the content of a used-up note stays until then. */
  repeatable_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
};

export type Schema = {
  'files.uploads': UploadsTable;
  'files.blob_deletions': BlobDeletionsTable;
  'files.blob_store': BlobStoreTable;
  'files.storage': StorageTable;
  'notes.notes': NotesTable;
  'notes.storage': StorageTable;
};
