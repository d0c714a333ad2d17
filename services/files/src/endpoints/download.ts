import type { Readable } from 'node:stream';
import { errorAnswers } from '@mayfly/shared/answers';
import { serviceUnavailable } from '@mayfly/shared/errors';
import { Token } from '@mayfly/shared/fields';
import { recordUse } from '@mayfly/shared/telemetry/funnel';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { AvailableUpload } from '@mayfly/store/uploads';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { badAuthToken, uploadGone, uploadNotFound } from '../errors.ts';
import { assertAvailable, findUpload } from '../find-upload.ts';
import { keepLease, LEASE_SEC } from '../lease.ts';

const Payload = Type.Unsafe<Readable>({ type: 'string', format: 'binary', description: 'the encrypted payload' });

/** Contract: GET /api/download/<id>. Counts once, when the payload is open and about to flow. */
export function download(app: App, { uploads, blobs, logger, funnel }: FilesDeps) {
  const schema = {
    operationId: 'downloadFile',
    tags: ['uploads'],
    summary: 'Download the encrypted payload; counts once',
    params: Type.Object({ id: Type.String() }),
    response: { 200: Payload, ...errorAnswers({ 401: badAuthToken(), 404: uploadNotFound(), 410: uploadGone() }) },
  };
  const config = {
    docs: {
      headers: Type.Object({ 'X-Auth-Token': Token('the auth token') }),
      produces: 'application/octet-stream',
      answerHeaders: {
        'Content-Length': Type.Integer({ description: 'size in bytes' }),
        'X-File-Count': Type.Integer({ description: 'number of files: 1, or more for an archive' }),
      },
    },
  };
  app.get('/api/download/:id', { schema, config }, async (request, reply) => {
    const upload = await findUpload(uploads, request.params.id);
    assertAvailable(upload);
    if (!tokenMatches(request.headers['x-auth-token'], upload.authHash)) throw badAuthToken();

    const payload = await openPayload(upload);
    try {
      const count = await uploads.claimDownload(upload.id, LEASE_SEC);
      if (count === 0) await refuse(upload.id);
      recordUse(funnel, count, upload.maxDownloads);
    } catch (error) {
      payload.destroy();
      throw error;
    }
    deliver(upload.id, payload);

    return reply
      .headers({
        'content-type': 'application/octet-stream',
        'content-length': upload.sizeBytes,
        'x-file-count': upload.fileCount,
      })
      .send(payload);
  });

  /** A payload that is missing, damaged or cannot be opened costs the recipient nothing. */
  async function openPayload({ id, sizeBytes }: Pick<AvailableUpload, 'id' | 'sizeBytes'>): Promise<Readable> {
    const payload = await blobs.open(id, sizeBytes);
    if (payload) return payload;
    assertAvailable(await findUpload(uploads, id)); // deleted between the look-up and the opening?
    throw serviceUnavailable(new Error('an available upload has no blob'));
  }

  /** No download was left at the increment: the limit, the time, or the owner came first. */
  async function refuse(id: string): Promise<never> {
    await findUpload(uploads, id);
    throw uploadGone();
  }

  /** Keeps the sweep away while bytes flow, and gives the download back when the blob store breaks off. */
  function deliver(id: string, payload: Readable) {
    const endLease = keepLease(uploads, id, logger);
    payload.once('close', endLease);
    payload.once('error', (err) => {
      logger.error({ err }, 'a download broke off at the blob store');
      uploads
        .returnDownload(id)
        .then(() => funnel('given_back'))
        .catch((error: unknown) => logger.warn({ err: error }, 'a download was not given back'));
    });
  }
}
