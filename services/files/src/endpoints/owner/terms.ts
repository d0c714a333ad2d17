import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { assertTerms, belowWhatWasUsed, longestLife, NewExpireSec } from '@mayfly/shared/owner-terms';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, uploadGone, uploadNotFound } from '../../errors.ts';
import { ownerIn } from '../../find-upload.ts';
import { findOwnUpload } from './find-own.ts';
import { OwnedUpload, toOwnedUpload } from './status.ts';

/** Contract: POST /api/own/upload/<id>/terms. All or nothing, in one step with the downloads that are counted meanwhile. */
export function uploadTerms(app: App, { owned, limits }: FilesDeps) {
  const { EXPIRE_OPTIONS_SEC: expireOptions, DOWNLOAD_OPTIONS: options } = limits;
  const longestSec = longestLife(limits, expireOptions);
  const schema = {
    operationId: 'setUploadTerms',
    tags: ['uploads'],
    summary: 'Give the upload another end, or another number of downloads',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({
      expireSec: NewExpireSec(expireOptions),
      maxDownloads: Type.Optional(Type.Integer({ minimum: 0, description: 'one of the options, or what was used' })),
    }),
    response: {
      200: OwnedUpload,
      ...errorAnswers({
        400: invalidRequest({ maxDownloads: ['or expireSec is required'] }),
        401: badOwnerToken(),
        404: uploadNotFound(),
        409: belowWhatWasUsed(),
        410: uploadGone(),
        413: new HttpError(413),
      }),
    },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.post('/api/own/upload/:id/terms', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const { expireSec, maxDownloads: uses } = request.body;
    const owner = ownerIn(request);
    const { id, status, usedCount } = await findOwnUpload(owned, owner);
    if (status !== 'available') throw uploadGone();
    assertTerms({ expireSec, uses }, { name: 'maxDownloads', options, usedCount });
    const verdict = await owned.setTerms(id, { expireSec, mostUses: uses }, longestSec);
    if (verdict !== 'changed') throw verdict === 'used' ? belowWhatWasUsed() : uploadGone();
    return toOwnedUpload(await findOwnUpload(owned, owner), limits);
  });
}
