import type { Readable } from 'node:stream';
import { errorAnswers } from '@mayfly/shared/answers';
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
import {
  assertWhole,
  isSmall,
  onBreak,
  openPayload,
  type PayloadReply,
  readPayload,
  whenOver,
} from '../payload-answer.ts';

const Payload = Type.Unsafe<Readable | Buffer>({
  type: 'string',
  format: 'binary',
  description: 'the encrypted payload',
});

/** Contract: GET /api/download/<id>. Counts once, when the payload is open and about to flow. */
export function download(app: App, deps: FilesDeps) {
  const { uploads, logger, funnel } = deps;
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

    const payload = isSmall(upload.sizeBytes) ? await sendAtOnce(upload, reply) : await sendAsRead(upload, reply);
    return reply
      .headers({
        'content-type': 'application/octet-stream',
        'content-length': upload.sizeBytes,
        'x-file-count': upload.fileCount,
      })
      .send(payload);
  });

  /** What is small is in memory before it counts: nothing can go wrong with it any more, and nobody need wait for its end. */
  async function sendAtOnce(upload: AvailableUpload, reply: PayloadReply): Promise<Buffer> {
    const payload = await readPayload(deps, upload, reply);
    await count(upload, 0);
    whenOver(reply, (isWhole) => {
      if (isWhole) release(upload.id, true);
    });
    return payload;
  }

  async function sendAsRead(upload: AvailableUpload, reply: PayloadReply): Promise<Readable> {
    const payload = await openPayload(deps, upload);
    try {
      assertWhole(payload);
      await count(upload, LEASE_SEC);
      if (payload.destroyed) await giveBack(upload.id);
      assertWhole(payload);
    } catch (error) {
      payload.destroy();
      throw error;
    }
    deliver(upload, payload, reply);
    return payload;
  }

  async function count({ id, maxDownloads }: AvailableUpload, leaseSec: number) {
    const downloads = await uploads.claimDownload(id, leaseSec);
    if (downloads === 0) await refuse(id);
    recordUse(funnel, downloads, maxDownloads);
  }

  /** No download was left at the increment: the limit, the time, or the owner came first. */
  async function refuse(id: string): Promise<never> {
    await findUpload(uploads, id);
    throw uploadGone();
  }

  /**
   * Keeps the sweep away while bytes flow, and gives the download back when the blob store breaks off. Decision
   * open-then-count.
   */
  function deliver({ id, sizeBytes }: AvailableUpload, payload: Readable, reply: PayloadReply) {
    const { socket } = reply.raw.req;
    const writtenBefore = socket.bytesWritten;
    const over = keepLease(() => uploads.renewLease(id, LEASE_SEC), logger);
    payload.once('close', over);
    whenOver(reply, (isWhole) => release(id, isWhole), payload);
    onBreak(payload, reply, (error) => {
      const isMostDelivered = socket.bytesWritten - writtenBefore > sizeBytes / 2;
      if (!isMostDelivered && !(error instanceof KeptWaiting)) void giveBack(id);
    });
  }

  /** Best effort: else the sweep waits for the end of the lease. */
  function release(id: string, isWhole: boolean) {
    uploads
      .release(id, isWhole)
      .catch((err: unknown) => logger.warn({ err }, 'the end of a download was not recorded'));
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
