import type { IncomingHttpHeaders } from 'node:http';
import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { Share, TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { AvailableUpload } from '@mayfly/store/uploads';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { notSealed, uploadGoneFor, uploadNotFound, wrongPassword } from '../errors.ts';
import { findUpload } from '../find-upload.ts';
import { headers, leaseIn, NO_LEASE } from './leases/lease-of.ts';

/** Contract: POST /api/unlock/<id>. What it takes besides the secret to open the metadata, for whoever has recovered it; counts nothing. */
export function unlock(app: App, { uploads, leases, limits }: Pick<FilesDeps, 'uploads' | 'leases' | 'limits'>) {
  const schema = {
    operationId: 'unlockUpload',
    tags: ['uploads'],
    summary: 'The share of sealed metadata, for whoever has recovered the secret',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({ authToken: Token('the auth token') }),
    response: {
      200: Type.Object({ share: Share }),
      ...errorAnswers({
        400: [notSealed(), invalidRequest({ authToken: ['is required'] }), invalidRequest(NO_LEASE)],
        401: wrongPassword(),
        404: uploadNotFound(),
        410: [uploadGoneFor('expired'), uploadGoneFor('limit_reached')],
        413: new HttpError(413),
      }),
    },
  };
  const config = { docs: { headers: Type.Partial(Type.Pick(headers, ['X-Download-Lease'])) } };
  app.post('/api/unlock/:id', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const found = await findUpload(uploads, request.params.id);
    const upload: AvailableUpload | undefined = found.status === 'available' ? found : await underLease(request);
    if (!upload) throw found.status !== 'available' && found.hasPassword ? uploadGoneFor(found.status) : notSealed();
    const share = upload.meta?.share;
    if (!share || !upload.password) throw notSealed();
    if (!tokenMatches(request.body.authToken, upload.authHash)) throw wrongPassword();
    return { share };
  });

  /** It is over for everybody else. */
  async function underLease({ params, headers }: { params: { id: string }; headers: IncomingHttpHeaders }) {
    if (limits.DOWNLOAD_LEASE_SEC === 0 || headers['x-download-lease'] === undefined) return undefined;
    return leases.describe({ id: params.id.toLowerCase(), tokenHash: leaseIn(headers) });
  }
}
