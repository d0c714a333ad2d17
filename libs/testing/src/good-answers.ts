import type { NoteInfo, ServiceConfig, UploadInfo } from '@mayfly/client';

// Answers of a service as they should be; a test changes what it is about.

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const TIME = '2030-01-01T00:00:00.000Z';

export const CONFIG = {
  maxFileSize: 1e9,
  maxFilesPerUpload: 32,
  expireOptionsSec: [60],
  downloadOptions: [1, 2],
  noteMaxSize: 1024,
  noteExpireOptionsSec: [60],
  noteViewOptions: [1],
} satisfies ServiceConfig;

export const UPLOAD_INFO = {
  id: ID,
  size: 24,
  fileCount: 1,
  hasPassword: false,
  passwordAlgo: null,
  passwordSalt: null,
  salt: 'A'.repeat(22),
  encryptedMeta: null,
  nonce: null,
  downloadCount: 0,
  maxDownloads: 2,
  expiresAt: TIME,
  createdAt: TIME,
} satisfies UploadInfo;

export const NOTE_INFO = {
  id: ID,
  contentType: 'text',
  hasPassword: false,
  salt: 'A'.repeat(22),
  maxViews: 1,
  viewCount: 0,
  expiresAt: TIME,
  createdAt: TIME,
} satisfies NoteInfo;
