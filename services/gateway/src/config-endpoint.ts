import { errorAnswers } from '@mayfly/shared/answers';
import Type from 'typebox';
import type { App, GatewayDeps } from './deps.ts';
import { OWN } from './routes.ts';

const Limits = Type.Object({
  maxFileSize: Type.Integer({ description: 'bytes' }),
  maxFilesPerUpload: Type.Integer(),
  expireOptionsSec: Type.Array(Type.Integer()),
  downloadOptions: Type.Array(Type.Integer()),
  noteMaxSize: Type.Integer({ description: 'bytes' }),
  noteExpireOptionsSec: Type.Array(Type.Integer()),
  noteViewOptions: Type.Array(Type.Integer()),
  viewRepeatSec: Type.Optional(
    Type.Integer({
      description: 'seconds for which a view can be repeated under its Idempotency-Key; absent when it cannot',
    }),
  ),
});

/** Contract: GET /api/config; its shape is decision 9. */
export function configEndpoint(app: App, { limits }: GatewayDeps) {
  const answer = {
    maxFileSize: limits.MAX_FILE_SIZE,
    maxFilesPerUpload: limits.MAX_FILES_PER_UPLOAD,
    expireOptionsSec: limits.EXPIRE_OPTIONS_SEC,
    downloadOptions: limits.DOWNLOAD_OPTIONS,
    noteMaxSize: limits.NOTE_MAX_SIZE,
    noteExpireOptionsSec: limits.NOTE_EXPIRE_OPTIONS_SEC,
    noteViewOptions: limits.NOTE_VIEW_OPTIONS,
    ...(limits.VIEW_REPEAT_SEC > 0 ? { viewRepeatSec: limits.VIEW_REPEAT_SEC } : {}),
  };
  const schema = {
    operationId: 'getConfig',
    tags: ['service'],
    summary: 'Limits that clients should know',
    response: { 200: Limits, ...errorAnswers({}) },
  };
  app.get(OWN.config.url, { schema }, async () => answer);
}
