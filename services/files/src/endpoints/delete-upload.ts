import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { badOwnerToken, uploadNotFound } from '../errors.ts';
import { findOwned, ownerIn } from '../find-upload.ts';

/** Contract: DELETE /api/upload/<id>. In every state; the record first, then the blob. */
export function deleteUpload(app: App, { uploads, blobs, logger, funnel }: FilesDeps) {
  const schema = {
    operationId: 'deleteUpload',
    tags: ['uploads'],
    summary: 'Delete the upload, in any state',
    params: Type.Object({ id: Type.String() }),
    response: { 200: Ok, ...errorAnswers({ 401: badOwnerToken(), 404: uploadNotFound(), 413: new HttpError(413) }) },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.delete('/api/upload/:id', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const upload = await findOwned(uploads, ownerIn(request));
    if (!(await uploads.remove(upload.id))) throw uploadNotFound();
    funnel('deleted');
    try {
      if ((await blobs.delete([upload.id])).length === 0) await uploads.blobsDeleted([upload.id]);
    } catch (err) {
      // Best effort: the record is gone and its blob is queued for deletion; the janitor tries again.
      logger.warn({ err }, 'a blob is left to the janitor');
    }
    return { ok: true as const };
  });
}
