import { NOTE_CONTENT_TYPES, type NoteContentType, PASSWORD_ALGOS, type PasswordAlgo } from '@mayfly/vocabulary';
import { bytes, count, flag, id, limit, limits, oneOf, optional, orNull, record, text, time } from './fields.ts';

// Answers that several parts read, under the contract's names. Salts, nonces and ciphertexts are the service's word: they are decoded and
// authenticated by whoever uses them.

/** Contract: GET /api/config. */
export type ServiceConfig = {
  maxFileSize: number;
  maxFilesPerUpload: number;
  expireOptionsSec: number[];
  downloadOptions: number[];
  noteMaxSize: number;
  noteExpireOptionsSec: number[];
  noteViewOptions: number[];
  /** How long a view can be repeated under its Idempotency-Key; absent when it cannot. */
  viewRepeatSec?: number;
  /** How a download can be continued; absent when it cannot. */
  downloadLeases?: DownloadLeases;
  /** The longest life that owners can give an item, in seconds; absent when owners see and change nothing. */
  owner?: { maxLifetimeSec: number; noteMaxLifetimeSec: number };
  /** Who can be told of uses: browsers that subscribe with this key, addresses; absent when nobody can. */
  notices?: { pushKey?: string; webhooks?: boolean };
  /** Whether the metadata of uploads with a password can be sealed; absent when they cannot. */
  sealedMetadata?: boolean;
  /** How files can be asked for; absent when they cannot. */
  requests?: FileRequestLimits;
  /** What creating takes: `key` a key (contract 16); absent when everybody may. */
  createGuard?: string;
  /** How a payload can be sent in parts; absent when it cannot. */
  uploadParts?: UploadParts;
};

export type DownloadLeases = {
  /** Seconds after its last byte. */
  idleSec: number;
};

export type FileRequestLimits = {
  expireOptionsSec: number[];
  /** How many drops a request can ask for. */
  dropOptions: number[];
  /** Of all drops of a request together, encrypted. */
  maxBytes: number;
};

export type UploadParts = {
  /** Of every part but the last, encrypted. */
  minBytes: number;
  maxBytes: number;
  maxParts: number;
  /** Of the whole, encrypted. */
  maxFileSize: number;
  /** Seconds within which an upload has to be finished. */
  sessionSec: number;
};

export const readConfig = record<ServiceConfig>({
  maxFileSize: bytes,
  maxFilesPerUpload: limit,
  expireOptionsSec: limits,
  downloadOptions: limits,
  noteMaxSize: bytes,
  noteExpireOptionsSec: limits,
  noteViewOptions: limits,
  viewRepeatSec: optional(limit),
  downloadLeases: optional(record<DownloadLeases>({ idleSec: limit })),
  owner: optional(record({ maxLifetimeSec: limit, noteMaxLifetimeSec: limit })),
  notices: optional(record({ pushKey: optional(text), webhooks: optional(flag) })),
  sealedMetadata: optional(flag),
  createGuard: optional(text),
  requests: optional(record<FileRequestLimits>({ expireOptionsSec: limits, dropOptions: limits, maxBytes: bytes })),
  uploadParts: optional(
    record<UploadParts>(
      { minBytes: bytes, maxBytes: bytes, maxParts: limit, maxFileSize: bytes, sessionSec: limit },
      ({ minBytes, maxBytes }) => minBytes <= maxBytes,
    ),
  ),
});

/** Contract: Upload, public representation. */
export type UploadInfo = {
  id: string;
  size: number;
  fileCount: number;
  hasPassword: boolean;
  passwordAlgo: PasswordAlgo | null;
  passwordSalt: string | null;
  salt: string;
  encryptedMeta: string | null;
  nonce: string | null;
  downloadCount: number;
  maxDownloads: number;
  expiresAt: string;
  createdAt: string;
};

export const readUploadInfo = record<UploadInfo>(
  {
    id,
    size: bytes,
    fileCount: limit,
    hasPassword: flag,
    passwordAlgo: orNull(oneOf(...PASSWORD_ALGOS)),
    passwordSalt: orNull(text),
    salt: text,
    encryptedMeta: orNull(text),
    nonce: orNull(text),
    downloadCount: count,
    maxDownloads: limit,
    expiresAt: time,
    createdAt: time,
  },
  ({ downloadCount, maxDownloads }) => downloadCount <= maxDownloads,
);

/** Contract: Note, public representation. */
export type NoteInfo = {
  id: string;
  /** Undefined where only the note itself says it. */
  contentType: NoteContentType | undefined;
  hasPassword: boolean;
  /** Absent without a password. */
  passwordAlgo?: PasswordAlgo | null;
  passwordSalt?: string | null;
  salt: string;
  maxViews: number;
  viewCount: number;
  expiresAt: string;
  createdAt: string;
};

export const readNoteInfo = record<NoteInfo>(
  {
    id,
    contentType: oneOf(...NOTE_CONTENT_TYPES),
    hasPassword: flag,
    passwordAlgo: optional(orNull(oneOf(...PASSWORD_ALGOS))),
    passwordSalt: optional(orNull(text)),
    salt: text,
    maxViews: limit,
    viewCount: count,
    expiresAt: time,
    createdAt: time,
  },
  ({ viewCount, maxViews }) => viewCount <= maxViews,
);
