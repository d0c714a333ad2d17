import { errorAnswers } from '@mayfly/shared/answers';
import { Token } from '@mayfly/shared/fields';
import type { NoticeLimits } from '@mayfly/shared/owner-notices';
import { Owned, toOwned } from '@mayfly/shared/owner-terms';
import type { OwnedItem } from '@mayfly/store/owned-items';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, uploadNotFound } from '../../errors.ts';
import { ownerIn } from '../../find-upload.ts';
import { findOwnUpload } from './find-own.ts';

export const OwnedUpload = Type.Object({
  ...Owned,
  downloadCount: Type.Integer({ minimum: 0 }),
  maxDownloads: Type.Integer({ minimum: 0 }),
  wholeCount: Type.Integer({ minimum: 0, description: 'downloads that arrived whole, as far as anybody could tell' }),
  metaSet: Type.Boolean({ description: 'whether its metadata was stored' }),
});

export const toOwnedUpload = (item: OwnedItem, limits: NoticeLimits) => ({
  ...toOwned(item, limits),
  downloadCount: item.usedCount,
  maxDownloads: item.mostUses,
  wholeCount: item.wholeCount,
  metaSet: item.hasMeta,
});

/** Contract: GET /api/own/upload/<id>. For its owner, also when it is over. */
export function uploadStatus(app: App, { owned, limits }: FilesDeps) {
  const schema = {
    operationId: 'ownUploadStatus',
    tags: ['uploads'],
    summary: 'What became of the upload, for its owner',
    params: Type.Object({ id: Type.String() }),
    response: { 200: OwnedUpload, ...errorAnswers({ 401: badOwnerToken(), 404: uploadNotFound() }) },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.get('/api/own/upload/:id', { schema, config }, async (request) =>
    toOwnedUpload(await findOwnUpload(owned, ownerIn(request)), limits),
  );
}
