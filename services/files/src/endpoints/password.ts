import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { notPasswordProtected, uploadGoneFor, uploadNotFound, wrongPassword } from '../errors.ts';
import { findUpload } from '../find-upload.ts';

/** Contract: POST /api/password/<id>. Whether the client has recovered the secret; counts nothing. */
export function password(app: App, { uploads }: FilesDeps) {
  const schema = {
    operationId: 'checkUploadPassword',
    tags: ['uploads'],
    summary: 'Whether the client has recovered the secret',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({ authToken: Token('the auth token') }),
    response: {
      200: Ok,
      ...errorAnswers({
        400: [notPasswordProtected(), invalidRequest({ authToken: ['is required'] })],
        401: wrongPassword(),
        404: uploadNotFound(),
        410: [uploadGoneFor('expired'), uploadGoneFor('limit_reached')],
        413: new HttpError(413),
      }),
    },
  };
  app.post('/api/password/:id', { schema, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const upload = await findUpload(uploads, request.params.id);
    if (upload.status !== 'available') throw upload.hasPassword ? uploadGoneFor(upload.status) : notPasswordProtected();
    if (!upload.password) throw notPasswordProtected();
    if (!tokenMatches(request.body.authToken, upload.authHash)) throw wrongPassword();
    return { ok: true as const };
  });
}
