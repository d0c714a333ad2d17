import { errorAnswers } from '@mayfly/shared/answers';
import { longestLife } from '@mayfly/shared/owner-endpoints';
import { noticeKinds } from '@mayfly/shared/owner-notices';
import { partLimits } from '@mayfly/shared/part-limits';
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
  downloadLeases: Type.Optional(
    Type.Object(
      { idleSec: Type.Integer({ description: 'seconds after the last range for which a download can be continued' }) },
      { description: 'downloads that can be continued; absent when they cannot' },
    ),
  ),
  owner: Type.Optional(
    Type.Object(
      {
        maxLifetimeSec: Type.Integer({ description: 'seconds in all that an upload may live when it is prolonged' }),
        noteMaxLifetimeSec: Type.Integer({ description: 'the same for a note' }),
      },
      { description: 'what owners may change; absent when they may not' },
    ),
  ),
  notices: Type.Optional(
    Type.Object(
      {
        pushKey: Type.Optional(
          Type.String({ description: 'the key that browsers subscribe with; absent without Web Push' }),
        ),
        webhooks: Type.Optional(Type.Literal(true, { description: 'absent where no address can be called' })),
      },
      { description: 'what owners may have told of uses, and how; absent when nothing is' },
    ),
  ),
  sealedMetadata: Type.Optional(
    Type.Literal(true, {
      description: 'the metadata of uploads with a password can be sealed; absent when they cannot',
    }),
  ),
  requests: Type.Optional(
    Type.Object(
      {
        expireOptionsSec: Type.Array(Type.Integer()),
        dropOptions: Type.Array(Type.Integer({ description: 'uploads that it takes' })),
        maxBytes: Type.Integer({ description: 'bytes of all its uploads together' }),
      },
      { description: 'requests for files; absent when there are none' },
    ),
  ),
  reports: Type.Optional(
    Type.Object(
      {
        publicKey: Type.Optional(
          Type.String({ description: 'base64url; what links are sealed to; absent where none can be disclosed' }),
        ),
      },
      { description: 'what recipients can report; absent when nothing is taken' },
    ),
  ),
  work: Type.Optional(
    Type.Object(
      { requests: Type.Integer({ description: 'requests that a solution is worth' }) },
      { description: 'what a client over its limit can work for; absent when it cannot' },
    ),
  ),
  createGuard: Type.Optional(
    Type.Enum(['key', 'header', 'oidc'], {
      description:
        'what whoever creates needs: a key, the word of a proxy, or to sign in; absent when nobody needs any',
    }),
  ),
  uploadParts: Type.Optional(
    Type.Object(
      {
        minBytes: Type.Integer({ description: 'least bytes of every part but the last' }),
        maxBytes: Type.Integer({ description: 'most bytes of a part' }),
        maxParts: Type.Integer(),
        maxFileSize: Type.Integer({ description: 'bytes of a whole upload' }),
        sessionSec: Type.Integer({ description: 'seconds from its beginning until it must be complete' }),
      },
      { description: 'uploads in parts; absent when there are none' },
    ),
  ),
});

const ownerLimits = (limits: GatewayDeps['limits']) => ({
  maxLifetimeSec: longestLife(limits, limits.EXPIRE_OPTIONS_SEC),
  noteMaxLifetimeSec: longestLife(limits, limits.NOTE_EXPIRE_OPTIONS_SEC),
});

const requestLimits = (limits: GatewayDeps['limits']) => ({
  expireOptionsSec: limits.REQUEST_EXPIRE_OPTIONS_SEC,
  dropOptions: limits.REQUEST_DROP_OPTIONS,
  maxBytes: limits.REQUEST_MAX_BYTES,
});

const reportKey = ({ REPORT_PUBLIC_KEY: publicKey }: GatewayDeps['limits']) => (publicKey ? { publicKey } : {});

/** Contract: GET /api/config. */
export function configEndpoint(app: App, { limits, settings, creationGuard }: GatewayDeps) {
  const parts = partLimits(limits);
  const notices = noticeKinds(limits);
  const answer = {
    maxFileSize: limits.MAX_FILE_SIZE,
    maxFilesPerUpload: limits.MAX_FILES_PER_UPLOAD,
    expireOptionsSec: limits.EXPIRE_OPTIONS_SEC,
    downloadOptions: limits.DOWNLOAD_OPTIONS,
    noteMaxSize: limits.NOTE_MAX_SIZE,
    noteExpireOptionsSec: limits.NOTE_EXPIRE_OPTIONS_SEC,
    noteViewOptions: limits.NOTE_VIEW_OPTIONS,
    ...(limits.VIEW_REPEAT_SEC > 0 ? { viewRepeatSec: limits.VIEW_REPEAT_SEC } : {}),
    ...(limits.DOWNLOAD_LEASE_SEC > 0 ? { downloadLeases: { idleSec: limits.DOWNLOAD_LEASE_SEC } } : {}),
    ...(limits.OWNER_CONTROL === 'yes' ? { owner: ownerLimits(limits) } : {}),
    ...(notices ? { notices } : {}),
    ...(limits.SEALED_METADATA === 'yes' ? { sealedMetadata: true as const } : {}),
    ...(limits.REQUESTS === 'yes' ? { requests: requestLimits(limits) } : {}),
    ...(limits.REPORTS === 'on' ? { reports: reportKey(limits) } : {}),
    ...(settings.WORK === 'adaptive' ? { work: { requests: settings.WORK_EXTRA } } : {}),
    ...(creationGuard ? { createGuard: creationGuard.kind } : {}),
    ...(parts ? { uploadParts: parts } : {}),
  };
  const schema = {
    operationId: 'getConfig',
    tags: ['service'],
    summary: 'Limits that clients should know',
    response: { 200: Limits, ...errorAnswers({}) },
  };
  app.get(OWN.config.url, { schema }, async () => answer);
}
