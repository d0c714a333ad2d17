import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { Base64, base64Bytes, Id, TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import {
  badOwnerToken,
  metadataMissing,
  requestExpired,
  requestFull,
  requestNotFound,
  requestWithoutRoom,
  uploadGone,
  uploadNotFound,
} from '../../errors.ts';
import { findRequest } from '../../find-request.ts';
import { assertAvailable, findOwned } from '../../find-upload.ts';

/** More than the first version of them takes, so that a next one fits. */
const ENC_BYTES = 2_048;
const SEALED_BYTES = 256;

const REFUSALS = { full: requestFull, 'no-room': requestWithoutRoom, gone: requestExpired };

/** Contract: POST /api/request/<id>/drop. The same upload again changes nothing. */
export function drop(app: App, { requests, uploads, requestFunnel }: FilesDeps) {
  const schema = {
    operationId: 'dropUpload',
    tags: ['requests'],
    summary: 'Give an upload to whoever has asked',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({
      uploadId: Id,
      enc: Base64('the encapsulated secret, of at most 2,048 bytes'),
      sealed: Base64('the secret of the upload, sealed; at most 256 bytes'),
    }),
    response: {
      200: Ok,
      ...errorAnswers({
        400: invalidRequest({ enc: ['is required'] }),
        401: badOwnerToken(),
        404: [requestNotFound(), uploadNotFound()],
        409: metadataMissing(),
        410: [uploadGone(), requestExpired(), requestFull(), requestWithoutRoom()],
        413: new HttpError(413),
      }),
    },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token("the upload's owner token") }) } };
  app.post('/api/request/:id/drop', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const { uploadId, enc, sealed } = request.body;
    if (base64Bytes(enc) > ENC_BYTES) throw invalidRequest({ enc: [`must be at most ${ENC_BYTES} bytes`] });
    if (base64Bytes(sealed) > SEALED_BYTES) throw invalidRequest({ sealed: [`must be at most ${SEALED_BYTES} bytes`] });
    const { id } = await findRequest(requests, request.params.id);
    const upload = await findOwned(uploads, { id: uploadId, ownerToken: request.headers['x-owner-token'] });
    assertAvailable(upload);
    if (!upload.meta) throw metadataMissing();
    const verdict = await requests.drop(id, { uploadId: upload.id, enc, sealed, bytes: upload.sizeBytes });
    if (verdict !== 'dropped') throw REFUSALS[verdict]();
    requestFunnel('used');
    return { ok: true as const };
  });
}
