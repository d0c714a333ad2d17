export { ID_PATTERN, NOTE_CONTENT_TYPES, type NoteContentType, type PasswordAlgo } from '@mayfly/vocabulary';
export type { NoteInfo, ServiceConfig, UploadInfo } from './api.ts';
export { withUniqueNames } from './archive.ts';
export { type ClientOptions, MayflyClient, type Usage } from './client.ts';
export type { Created } from './context.ts';
export { asMayflyError, type ErrorCode, MayflyError } from './errors.ts';
export { fetchTransport } from './fetch-transport.ts';
export { formatLink, type Kind, type Link, parseLink } from './link.ts';
export type { FileEntry, Metadata } from './metadata.ts';
export type { CreatedNote, NoteOptions, ViewedNote, ViewOptions } from './notes.ts';
export { openFile, sealFile } from './passphrase-file.ts';
export type { OnProgress } from './payload.ts';
export { encryptedSize } from './size.ts';
export type { Source } from './source.ts';
export { toBlob } from './to-blob.ts';
export type { StreamBody, Transport, TransportAnswer, TransportRequest } from './transport.ts';
export { type UnpackedFile, unpack } from './unpack.ts';
export {
  type Download,
  type DownloadOptions,
  type Spool,
  type StreamUploadOptions,
  type UploadOptions,
  uploadSize,
} from './uploads.ts';
export { uploadWithXhr } from './xhr-upload.ts';
