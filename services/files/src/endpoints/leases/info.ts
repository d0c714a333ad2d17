import { errorAnswers } from '@mayfly/shared/answers';
import { invalidRequest } from '@mayfly/shared/errors';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { leaseEnded, uploadNotFound } from '../../errors.ts';
import { findUpload } from '../../find-upload.ts';
import { describe, UploadInfo } from '../info.ts';
import { headers, leaseIn, NO_LEASE } from './lease-of.ts';

/** Contract: GET /api/lease/<id>/info. What whoever goes on with a download has to know: the upload may be used up by then. */
export function leaseInfo(app: App, { uploads, leases }: Pick<FilesDeps, 'uploads' | 'leases'>) {
  const schema = {
    operationId: 'getLeasedUploadInfo',
    tags: ['uploads'],
    summary: 'What everyone with the id may know, for whoever has a lease that has not ended',
    params: Type.Object({ id: Type.String() }),
    response: {
      200: UploadInfo,
      ...errorAnswers({ 400: invalidRequest(NO_LEASE), 404: uploadNotFound(), 410: leaseEnded() }),
    },
  };
  const config = { docs: { headers: Type.Pick(headers, ['X-Download-Lease']) } };
  app.get('/api/lease/:id/info', { schema, config }, async (request) => {
    const tokenHash = leaseIn(request.headers);
    const { id } = await findUpload(uploads, request.params.id);
    const upload = await leases.describe({ id, tokenHash });
    if (!upload) throw leaseEnded();
    return describe(upload);
  });
}
