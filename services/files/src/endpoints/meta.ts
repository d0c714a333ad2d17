import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { Base64, Token } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { badOwnerToken, metadataAlreadySet, uploadGone, uploadNotFound } from '../errors.ts';
import { assertAvailable, findUpload } from '../find-upload.ts';

/** Names, types and sizes of MAX_FILES_PER_UPLOAD files, encrypted. */
const META_BODY_BYTES = 256 * 1024;

/** Contract: POST /api/meta/<id>. Stores the encrypted metadata, once. */
export function meta(app: App, { uploads }: FilesDeps) {
  const schema = {
    operationId: 'setUploadMeta',
    tags: ['uploads'],
    summary: 'Store the encrypted metadata, once',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({ encryptedMeta: Base64('the encrypted metadata'), nonce: Base64('its nonce') }),
    response: {
      200: Ok,
      ...errorAnswers({
        400: invalidRequest({ nonce: ['is required'] }),
        401: badOwnerToken(),
        404: uploadNotFound(),
        409: metadataAlreadySet(),
        410: uploadGone(),
        413: new HttpError(413),
      }),
    },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.post('/api/meta/:id', { schema, config, bodyLimit: META_BODY_BYTES }, async (request) => {
    const upload = await findUpload(uploads, request.params.id);
    if (!tokenMatches(request.headers['x-owner-token'], upload.ownerHash)) throw badOwnerToken();
    assertAvailable(upload);
    if (await uploads.setMeta(upload.id, request.body)) return { ok: true as const };
    const now = await findUpload(uploads, upload.id);
    throw now.status === 'available' ? metadataAlreadySet() : uploadGone();
  });
}
