import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { errorAnswers } from '@mayfly/shared/answers';
import { cutOff } from '@mayfly/shared/cut-off';
import { serviceUnavailable } from '@mayfly/shared/errors';
import { Token } from '@mayfly/shared/fields';
import { recordUse } from '@mayfly/shared/telemetry/funnel';
import { tokenMatches } from '@mayfly/shared/tokens';
import { KeptWaiting } from '@mayfly/store/blobs';
import type { AvailableUpload } from '@mayfly/store/uploads';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { badAuthToken, uploadGone, uploadNotFound } from '../errors.ts';
import { assertAvailable, findUpload } from '../find-upload.ts';
import { keepLease, LEASE_SEC } from '../lease.ts';

const Payload = Type.Unsafe<Readable>({ type: 'string', format: 'binary', description: 'the encrypted payload' });

type Reply = { raw: ServerResponse; removeHeader: (name: string) => unknown };

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
    payload.once('error', (err) => logger.error({ err }, 'a payload broke off at the blob store'));
    try {
      assertWhole(payload);
      const count = await uploads.claimDownload(upload.id, LEASE_SEC);
      if (count === 0) await refuse(upload.id);
      recordUse(funnel, count, upload.maxDownloads);
      if (payload.destroyed) await giveBack(upload.id);
      assertWhole(payload);
    } catch (error) {
      payload.destroy();
      throw error;
    }
    deliver(upload, payload, reply);

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

  /** It may have broken off while the database was asked. */
  function assertWhole(payload: Readable) {
    if (payload.destroyed) throw serviceUnavailable(payload.errored);
  }

  /** Keeps the sweep away while bytes flow, and gives the download back when the blob store breaks off. Decision 20. */
  function deliver({ id, sizeBytes }: AvailableUpload, payload: Readable, reply: Reply) {
    const { socket } = reply.raw.req;
    const writtenBefore = socket.bytesWritten;
    payload.once('close', keepLease(uploads, id, logger));
    payload.once('error', (error) => {
      if (reply.raw.headersSent) cutOff(socket, 'store');
      else takeHeadBack(reply);
      const isMostDelivered = socket.bytesWritten - writtenBefore > sizeBytes / 2;
      if (!isMostDelivered && !(error instanceof KeptWaiting)) void giveBack(id);
    });
  }

  async function giveBack(id: string) {
    try {
      await uploads.returnDownload(id);
      funnel('given_back');
    } catch (err) {
      // Nothing else can be done: the recipient has lost a download to two faults at once.
      logger.warn({ err }, 'a download was not given back');
    }
  }
}

/** Nothing was sent: the answer becomes a 503, which is no payload. */
function takeHeadBack(reply: Reply) {
  for (const name of ['content-type', 'content-length', 'x-file-count']) {
    reply.removeHeader(name);
    reply.raw.removeHeader(name);
  }
}
