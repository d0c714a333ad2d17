export {
  ID_PATTERN,
  NOTE_CONTENT_TYPES,
  type NoteContentType,
  type PasswordAlgo,
  type ReportKind,
} from '@mayfly/vocabulary';
export { retryAfterSec } from './answer-body.ts';
export type { DownloadLeases, FileRequestLimits, NoteInfo, ServiceConfig, UploadInfo, UploadParts } from './answers.ts';
export { withUniqueNames } from './archive.ts';
export type { Arrival } from './arrival.ts';
export { type ClientOptions, MayflyClient } from './client.ts';
export type { Content, ContentOptions } from './content.ts';
export type { Created } from './context.ts';
export type { Download, DownloadOptions } from './download-options.ts';
export { contentOffset, readEntry } from './entries.ts';
export { asMayflyError, type ErrorCode, MayflyError } from './errors.ts';
export { exactArchive } from './exact-archive.ts';
export { fetchTransport } from './fetch-transport.ts';
export { newLease } from './lease.ts';
export { formatLink, type Kind, type Link, type LinkProtection, parseAddress, parseLink } from './link.ts';
export type { FileEntry, Metadata } from './metadata.ts';
export type { CreatedNote, NoteOptions, ViewedNote, ViewOptions } from './notes.ts';
export type { Hooks, NewTerms, OwnStatus } from './owned.ts';
export { openFile, sealFile } from './passphrase-file.ts';
export type { OnProgress } from './payload.ts';
export { encryptedSize } from './size.ts';
export type { Source } from './source.ts';
export type { Spool, StreamUploadOptions } from './stream-uploads.ts';
export type { StreamBody } from './streams.ts';
export { toBlob } from './to-blob.ts';
export type { Transport, TransportAnswer, TransportRequest } from './transport.ts';
export { hasPassword, type UnfinishedUpload } from './unfinished.ts';
export { type UnpackedFile, type UnpackFrom, unpack } from './unpack.ts';
export type { PartOptions, UploadOptions } from './upload-options.ts';
export { uploadSize } from './uploads.ts';
export type { Usage } from './usage.ts';
export { uploadWithXhr } from './xhr-upload.ts';
