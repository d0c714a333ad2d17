import type { Readable } from 'node:stream';
import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { recordUse } from '@mayfly/shared/telemetry/funnel';
import type { LeaseKey } from '@mayfly/store/download-leases';
import Type from 'typebox';
import { rangeNotSatisfiable, readRange, SEVERAL_RANGES } from '../../byte-range.ts';
import type { App, FilesDeps } from '../../deps.ts';
import { badAuthToken, leaseEnded, uploadGone, uploadNotFound } from '../../errors.ts';
import { findUpload } from '../../find-upload.ts';
import { keepLease, LEASE_SEC } from '../../lease.ts';
import { assertWhole, onBreak, openPayload, type PayloadReply, whenOver } from '../../payload-answer.ts';
import { headers, leaseOf, NO_LEASE } from './lease-of.ts';

const LONGEST_SEC = 24 * 3_600;
/** So often a range may break off: unnoticed, or with all of it on its way. */
const CUTS = 128;
/** Several at once make sense, and some may have broken off unnoticed. */
const RANGES = 8;
/** What connections on the way to a recipient may hold when they break. */
const ON_ITS_WAY_BYTES = 8 * 2 ** 20;
/** Beside two copies of a payload: who reads it in pieces asks for some segments twice. */
const PIECES_BYTES = 8 * 2 ** 20;

const Payload = Type.Unsafe<Readable>({ type: 'string', format: 'binary', description: 'of the encrypted payload' });

/** Contract: GET /api/lease/<id>. Counts once for each lease, and can be asked again at will, from any byte on. */
export function readUnderLease(app: App, deps: FilesDeps) {
  const { uploads, leases, logger, funnel, limits } = deps;
  const idleSec = limits.DOWNLOAD_LEASE_SEC;
  const schema = {
    operationId: 'readUnderLease',
    tags: ['uploads'],
    summary: 'Download the encrypted payload, or a range of it, under a lease; counts once for each lease',
    params: Type.Object({ id: Type.String() }),
    response: {
      200: Payload,
      206: Payload,
      ...errorAnswers({
        400: [invalidRequest(NO_LEASE), invalidRequest(SEVERAL_RANGES)],
        401: badAuthToken(),
        404: uploadNotFound(),
        410: [uploadGone(), leaseEnded()],
        416: rangeNotSatisfiable(0),
      }),
    },
  };
  const config = {
    docs: {
      headers: Type.Object({
        ...headers.properties,
        'X-Download-Continues': Type.Optional(Type.String({ description: '`true`: no lease is opened' })),
        'X-Download-Repeats': Type.Optional(Type.String({ description: '`true`: nothing has arrived of this range' })),
        Range: Type.Optional(Type.String({ description: 'one range of bytes, RFC 9110, 14.2' })),
      }),
      produces: 'application/octet-stream',
      answerHeaders: {
        'Content-Length': Type.Integer({ description: 'size of the range in bytes' }),
        'Content-Range': Type.String({ description: 'which bytes of how many; of a range only' }),
        'X-File-Count': Type.Integer({ description: 'number of files: 1, or more for an archive' }),
      },
    },
  };
  app.get('/api/lease/:id', { schema, config }, async (request, reply) => {
    const { key, upload } = await leaseOf(deps, request.params.id, request.headers);
    const { sizeBytes, fileCount } = upload;
    const isContinued = request.headers['x-download-continues'] === 'true';
    const range = readRange(request.headers.range, sizeBytes);
    const wanted = range ?? { first: 0, last: sizeBytes - 1 };
    const bytes = wanted.last + 1 - wanted.first;

    const payload = await openPayload(deps, { id: key.id, sizeBytes }, range);
    try {
      assertWhole(payload);
      const terms = {
        idleSec,
        longestSec: LONGEST_SEC,
        budgetBytes: 2 * sizeBytes + Math.min(Math.floor(sizeBytes / 2), PIECES_BYTES),
        cuts: CUTS,
        ranges: RANGES,
        lostBytes: ON_ITS_WAY_BYTES,
        forgivenBytes: CUTS * Math.min(sizeBytes, ON_ITS_WAY_BYTES),
        isContinued,
        isRepeated: request.headers['x-download-repeats'] === 'true',
      };
      const taken = await leases.take(key, wanted, terms);
      if (taken === 'gone' && !isContinued) await refuse(key.id);
      if (taken === 'busy') throw tooManyRanges();
      if (typeof taken === 'string') throw leaseEnded();
      if (taken.count !== undefined) recordUse(funnel, taken.count, upload.maxDownloads ?? taken.count);
      if (payload.destroyed) await settle(key, bytes);
      assertWhole(payload);
    } catch (error) {
      payload.destroy();
      throw error;
    }
    watch(key, bytes, payload, reply);

    return reply
      .code(range ? 206 : 200)
      .headers({
        'content-type': 'application/octet-stream',
        'content-length': bytes,
        ...(range ? { 'content-range': `bytes ${range.first}-${range.last}/${sizeBytes}` } : {}),
        'accept-ranges': 'bytes',
        'x-accel-buffering': 'no', // a proxy that reads ahead makes a cut look like a whole download
        etag: `"${key.id}"`, // a payload never changes
        'x-file-count': fileCount,
      })
      .send(payload);
  });

  const tooManyRanges = () => new HttpError(429, 'Too many requests', { headers: { 'retry-after': '1' } });

  /** No download was left for a new lease: the limit, the time, or the owner came first. */
  async function refuse(id: string): Promise<never> {
    await findUpload(uploads, id);
    throw uploadGone();
  }

  /** Keeps the lease while bytes flow. What is cut can be asked for again: what was not sent does not count. */
  function watch(key: LeaseKey, bytes: number, payload: Readable, reply: PayloadReply) {
    const { socket } = reply.raw.req;
    const writtenBefore = socket.bytesWritten;
    let isTakenBack = false;
    onBreak(payload, reply, (_, isHeadBack) => {
      isTakenBack = isHeadBack;
    });
    const over = keepLease(() => leases.renew(key, LEASE_SEC), logger);
    whenOver(
      reply,
      (isWhole) => {
        over();
        const written = isTakenBack ? 0 : socket.bytesWritten - socket.writableLength - writtenBefore;
        const sentBytes = isWhole ? bytes : Math.min(Math.max(written, 0), bytes);
        void settle(key, bytes - sentBytes);
      },
      payload,
    );
  }

  async function settle(key: LeaseKey, unsentBytes: number) {
    try {
      await leases.settle(key, unsentBytes, idleSec);
    } catch (err) {
      // Best effort: what was not sent counts as read, of twice the payload.
      logger.warn({ err }, 'a range was not settled');
    }
  }
}
