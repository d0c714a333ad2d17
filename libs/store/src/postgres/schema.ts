// biome-ignore-all lint/style/noExcessiveLinesPerFile: one list of all tables.

import type { ColumnType, Generated } from 'kysely';
import type { Hooks } from '../hooks.ts';
import type { ContentType } from '../notes.ts';
import type { NoticeEvent } from '../notices.ts';
import type { ItemKind, ReportKind } from '../reports.ts';
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
  /** To the minute. */
  used_at: Generated<Date[]>;
  hooks: ColumnType<Hooks | null, string | null | undefined, string | null>;
};

export type UploadsTable = Item<UploadState> & {
  size: number;
  file_count: number;
  encrypted_meta: string | null;
  nonce: string | null;
  /** What it takes besides to open the metadata, where they are sealed. */
  meta_share: ColumnType<string | null, string | null | undefined, string | null>;
  download_count: Generated<number>;
  max_downloads: number;
  /** Downloads under way, as far as their processes could tell of their end; none counts after `leased_until`. */
  readers: Generated<number>;
  leased_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** Downloads that arrived whole, as far as anybody could tell. */
  whole_count: Generated<number>;
  /** When a comparison missed its blob; null again when one has found it. */
  lost_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
};

export type DownloadLeasesTable = {
  upload_id: string;
  token_hash: Buffer;
  bytes_left: number;
  /** So many more ranges may be asked for while one is open, before their bytes have to be there. */
  cuts_left: number;
  /** What may still be forgiven of ranges that broke off. */
  forgiven_left: number;
  /** Under way, as far as their processes could tell of their end. */
  open_ranges: number;
  /** Those that were taken last, the latest first. */
  recent_ranges: string[];
  sent_bytes: number;
  ends_at: Time;
  hard_ends_at: Time;
};

/** One row: the marker that the blob store bears, and since when it does. */
export type BlobStoreTable = { id: string; marked_at: Date | null };

export type BlobDeletionsTable = {
  id: string;
  due_at: Time;
  attempts: Generated<number>;
  held_bytes: Generated<number>;
  /** What the blob store calls the parts that it may have. */
  store_ref: ColumnType<string | null, string | null | undefined, string | null>;
};

export type UploadSessionsTable = {
  id: string;
  store_ref: string;
  part_bytes: number;
  /** Whether the upload's size is its length, or only the most that it may be. */
  is_exact: boolean;
  is_announced: boolean;
  /** Which decision ended the taking of parts, and for how many bytes. */
  seal: string | null;
  sealed_bytes: number | null;
  ends_at: Time;
};

export type UploadPartsTable = {
  id: string;
  number: number;
  bytes: number;
  tag: string;
  /** Of the try that this one has taken the place of. */
  replaced_tag: string | null;
  digest: Buffer | null;
};

/** What hooks are still to be told. */
export type NoticesTable = {
  id: Generated<string>;
  item_id: string;
  kind: keyof Hooks;
  host: string;
  event: NoticeEvent;
  at: Date | null;
  attempts: Generated<number>;
  due_at: Time;
};

/** `expired`: a tombstone, left by the sweep. */
export type RequestsTable = {
  id: string;
  state: 'open' | 'expired';
  owner_hash: Buffer;
  public_key: string | null;
  greeting: string | null;
  nonce: string | null;
  max_drops: number;
  drop_count: Generated<number>;
  max_bytes: number;
  byte_count: Generated<number>;
  drop_expire_sec: number;
  drop_max_downloads: number;
  created_at: Time;
  expires_at: Time;
  /** When the sweep has something to do with the row. */
  due_at: Time;
  hooks: ColumnType<Hooks | null, string | null | undefined, string | null>;
  held_bytes: Generated<number>;
};

export type RequestDropsTable = {
  request_id: string;
  upload_id: string;
  enc: string;
  sealed: string;
  bytes: number;
  /** In the order in which they came. */
  number: number;
  /** To the minute. */
  at: Date | null;
};

export type ReportsTable = {
  item_id: string;
  number: number;
  report_kind: ReportKind;
  report_text: string;
  auth_hash: Buffer | null;
  enc: string | null;
  sealed: string | null;
  /** To the minute. */
  at: Time;
};

/** What was blocked: nothing else of it is left. */
export type BlocksTable = {
  item_id: string;
  item_kind: ItemKind;
  reason: ReportKind;
  blocked_at: Time;
  due_at: Time;
  owner_hash: Buffer;
  created_at: Time;
  expires_at: Time;
  used_count: number;
  most_uses: number;
  whole_count: number;
};

/** One row: how many bytes are held by those that count. */
export type StorageTable = { only_row: Generated<boolean>; bytes: Generated<number> };

export type NotesTable = Item<NoteState> & {
  content_type: ContentType;
  encrypted_content: string | null;
  nonce: string | null;
  view_count: Generated<number>;
  max_views: number;
  /** By the hash of its key: the count of each view that can be repeated, and until when. Decision repeatable-views. */
  recent_views: unknown;
  /** When the last of them ends; the content of a used-up note stays until then. */
  repeatable_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
};

export type Schema = {
  'files.uploads': UploadsTable;
  'files.download_leases': DownloadLeasesTable;
  'files.blob_deletions': BlobDeletionsTable;
  'files.upload_sessions': UploadSessionsTable;
  'files.upload_parts': UploadPartsTable;
  'files.blob_store': BlobStoreTable;
  'files.storage': StorageTable;
  'files.notices': NoticesTable;
  'files.requests': RequestsTable;
  'files.request_drops': RequestDropsTable;
  'files.request_storage': StorageTable;
  'files.request_notices': NoticesTable;
  'notes.notes': NotesTable;
  'notes.notices': NoticesTable;
  'notes.storage': StorageTable;
  'desk.reports': ReportsTable;
  'desk.blocks': BlocksTable;
};
