import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { Base64, META_BODY_BYTES, PossibleShare, Token } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { badOwnerToken, metadataAlreadySet, uploadGone, uploadNotFound } from '../errors.ts';
import { assertAvailable, findOwned, findUpload, ownerIn } from '../find-upload.ts';
import { isSealed, shareIn } from '../is-sealed.ts';

/** Contract: POST /api/meta/<id>. Stores the encrypted metadata, once. */
export function meta(app: App, { uploads }: FilesDeps) {
  const schema = {
    operationId: 'setUploadMeta',
    tags: ['uploads'],
    summary: 'Store the encrypted metadata, once',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({
      encryptedMeta: Base64('the encrypted metadata'),
      nonce: Base64('its nonce'),
      share: Type.Optional(PossibleShare),
    }),
    response: {
      200: Type.Object({ ok: Type.Literal(true), isSealed: Type.Optional(Type.Literal(true)) }),
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
    const upload = await findOwned(uploads, ownerIn(request));
    assertAvailable(upload);
    const { encryptedMeta, nonce } = request.body;
    const share = shareIn(request.body.share);
    if (await uploads.setMeta(upload.id, { encryptedMeta, nonce, ...(share && { share }) })) {
      return { ok: true as const, ...isSealed(share) };
    }
    const now = await findUpload(uploads, upload.id);
    throw now.status === 'available' ? metadataAlreadySet() : uploadGone();
  });
}
