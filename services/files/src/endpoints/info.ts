import { errorAnswers } from '@mayfly/shared/answers';
import { Id, Nullable, Timestamp } from '@mayfly/shared/fields';
import type { AvailableUpload, PasswordAlgo } from '@mayfly/store/uploads';
import Type, { type Static } from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { uploadGone, uploadNotFound } from '../errors.ts';
import { assertAvailable, findUpload } from '../find-upload.ts';

export const UploadInfo = Type.Object({
  id: Id,
  size: Type.Integer({ description: 'size of the encrypted payload in bytes' }),
  fileCount: Type.Integer(),
  hasPassword: Type.Boolean(),
  passwordAlgo: Nullable<PasswordAlgo>('argon2id or pbkdf2; null without a password'),
  passwordSalt: Nullable('base64url of 16 bytes; null without a password'),
  salt: Type.String({ description: 'base64url of 16 bytes' }),
  encryptedMeta: Nullable('base64; null until it is set'),
  nonce: Nullable('base64; null until it is set'),
  downloadCount: Type.Integer(),
  maxDownloads: Type.Integer(),
  expiresAt: Timestamp,
  createdAt: Timestamp,
});

/** Contract: GET /api/info/<id>. What everyone with the id may know. */
export function info(app: App, { uploads }: FilesDeps) {
  const schema = {
    operationId: 'getUploadInfo',
    tags: ['uploads'],
    summary: 'What everyone with the id may know',
    params: Type.Object({ id: Type.String() }),
    response: { 200: UploadInfo, ...errorAnswers({ 404: uploadNotFound(), 410: uploadGone() }) },
  };
  app.get('/api/info/:id', { schema }, async (request) => {
    const upload = await findUpload(uploads, request.params.id);
    assertAvailable(upload);
    return describe(upload);
  });
}

export function describe(upload: AvailableUpload): Static<typeof UploadInfo> {
  return {
    id: upload.id,
    size: upload.sizeBytes,
    fileCount: upload.fileCount,
    hasPassword: upload.password !== undefined,
    passwordAlgo: upload.password?.algo ?? null,
    passwordSalt: upload.password?.salt ?? null,
    salt: upload.salt,
    encryptedMeta: upload.meta?.encryptedMeta ?? null, // contract 3.3: null until set
    nonce: upload.meta?.nonce ?? null,
    downloadCount: upload.downloadCount,
    maxDownloads: upload.maxDownloads,
    expiresAt: upload.expiresAt.toISOString(),
    createdAt: upload.createdAt.toISOString(),
  };
}
