import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { HooksBody, hooksIn } from '@mayfly/shared/owner-notices';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, uploadGone, uploadNotFound } from '../../errors.ts';
import { ownerIn } from '../../find-upload.ts';
import { findOwnUpload } from './find-own.ts';
import { OwnedUpload, toOwnedUpload } from './status.ts';

const params = Type.Object({ id: Type.String() });
const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };

/** Contract: POST /api/own/upload/<id>/hooks. Uses that are counted from now on are told. */
export function uploadHooks(app: App, { owned, limits }: FilesDeps) {
  const schema = {
    operationId: 'setUploadHooks',
    tags: ['uploads'],
    summary: 'Have somebody told when the upload is used',
    params,
    body: HooksBody,
    response: {
      200: OwnedUpload,
      ...errorAnswers({
        400: invalidRequest({ webhook: ['or push is required'] }),
        401: badOwnerToken(),
        404: uploadNotFound(),
        410: uploadGone(),
        413: new HttpError(413),
      }),
    },
  };
  app.post('/api/own/upload/:id/hooks', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const find = () => findOwnUpload(owned, ownerIn(request));
    const item = await find();
    if (item.status !== 'available') throw uploadGone();
    const hooks = hooksIn(request.body, limits);
    if (!(await owned.setHooks(item.id, hooks))) throw uploadGone();
    return toOwnedUpload(await find(), limits);
  });
}

/** Contract: DELETE /api/own/upload/<id>/hooks. */
export function endUploadHooks(app: App, { owned, limits }: FilesDeps) {
  const schema = {
    operationId: 'endUploadHooks',
    tags: ['uploads'],
    summary: 'Have nobody told any more',
    params,
    response: { 200: OwnedUpload, ...errorAnswers({ 401: badOwnerToken(), 404: uploadNotFound() }) },
  };
  app.delete('/api/own/upload/:id/hooks', { schema, config }, async (request) => {
    const find = () => findOwnUpload(owned, ownerIn(request));
    await owned.endHooks((await find()).id);
    return toOwnedUpload(await find(), limits);
  });
}
