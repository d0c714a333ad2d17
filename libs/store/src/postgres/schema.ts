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
};

export type UploadsTable = Item<UploadState> & {
  size: number;
  file_count: number;
  encrypted_meta: string | null;
  nonce: string | null;
  download_count: Generated<number>;
  max_downloads: number;
  leased_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
};

export type BlobDeletionsTable = {
  id: string;
  due_at: Time;
  attempts: Generated<number>;
};

export type NotesTable = Item<NoteState> & {
  content_type: ContentType;
  encrypted_content: string | null;
  nonce: string | null;
  view_count: Generated<number>;
  max_views: number;
};

export type Schema = {
  'files.uploads': UploadsTable;
  'files.blob_deletions': BlobDeletionsTable;
  'notes.notes': NotesTable;
};
