import type { IncomingMessage } from 'node:http';
import { errorAnswers } from '@mayfly/shared/answers';
import { awaitsContinue } from '@mayfly/shared/app';
import { clientGone } from '@mayfly/shared/client-gone';
import { HttpError, invalidRequest, LENGTH_MISMATCH, lengthRequired, serviceUnavailable } from '@mayfly/shared/errors';
import { Token } from '@mayfly/shared/fields';
import type { PartLimits } from '@mayfly/shared/part-limits';
import { bodyOf } from '@mayfly/shared/read-buffers';
import { PartsGone } from '@mayfly/store/blob-parts';
import { LengthMismatch } from '@mayfly/store/blobs';
import { bytesOfPart, partCount, type RecordedPart, type Session } from '@mayfly/store/upload-sessions';
import Type from 'typebox';
import { DigestMismatch, ofDigest, readDigest } from '../../content-digest.ts';
import type { App, FilesDeps } from '../../deps.ts';
import {
  badOwnerToken,
  noRoomForUpload,
  sessionEnded,
  uploadNotFound,
  uploadSealed,
  withoutRoom,
} from '../../errors.ts';
import { findOpenSession } from '../../find-session.ts';
import { ownerIn } from '../../find-upload.ts';

const WRONG_DIGEST = { 'Content-Digest': ['must match the body'] };

const headers = Type.Object({
  'X-Owner-Token': Token('the owner token'),
  'Content-Length': Type.Integer({ minimum: 1, description: 'size of the part in bytes' }),
  'Content-Digest': Type.Optional(Type.String({ description: 'RFC 9530, with sha-256' })),
});

/** Contract: POST /api/parts/<id>/<number>. It can be repeated at will, in any order, on any replica; the last one counts. */
export function putPart(app: App, deps: FilesDeps, { maxBytes, maxParts }: PartLimits) {
  const { sessions, blobs, logger } = deps;
  app.register(async (scope) => {
    // The body is bytes, whatever type it claims; it goes to the blob store as it comes.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));

    scope.route({
      method: 'POST',
      url: '/api/parts/:id/:number',
      bodyLimit: maxBytes,
      config: { continuesItself: true, docs: { headers, consumes: 'application/octet-stream' } },
      schema: {
        operationId: 'putPart',
        tags: ['uploads'],
        summary: 'Send one part of an upload',
        params: Type.Object({ id: Type.String(), number: Type.String() }),
        response: {
          200: Type.Object({ number: Type.Integer(), bytes: Type.Integer() }),
          ...errorAnswers({
            400: [invalidRequest(LENGTH_MISMATCH), invalidRequest(WRONG_DIGEST)],
            401: badOwnerToken(),
            404: uploadNotFound(),
            409: uploadSealed(),
            410: sessionEnded(),
            411: lengthRequired(),
            413: new HttpError(413),
            507: noRoomForUpload(),
          }),
        },
      },

      onRequest: async (request) => {
        request.raw.headers['content-type'] = 'application/octet-stream';
        if (request.headers['content-length'] === undefined) throw lengthRequired();
      },

      handler: async (request, reply) => {
        const params = request.params as { id: string; number: string }; // the schema's
        const number = readNumber(params.number, maxParts);
        const digest = readDigest(request.headers['content-digest']);
        const owner = ownerIn({ params, headers: request.headers });
        const session = await findOpenSession(deps, owner);
        const bytes = Number(request.headers['content-length']);
        assertLength(session, number, bytes);
        if (digest && (await isStored(session.id, { number, bytes, digest }))) return { number, bytes };

        const senderGone = clientGone(reply.raw);
        const place = { id: session.id, storeRef: session.storeRef, number };
        const roomBytes = bytesOfPart(number, session.mostBytes, session.partBytes);
        await sessions.hold(session.id, roomBytes).catch(withoutRoom);
        if (awaitsContinue(request)) reply.raw.writeContinue();
        const tag = await store(request.raw, place, { bytes, digest, senderGone }).catch(async (error: unknown) => {
          await letGo(session.id, roomBytes);
          if (!(error instanceof PartsGone)) return withoutRoom(error);
          await findOpenSession(deps, owner); // which says why
          throw sessionEnded(); // the store has forgotten it
        });
        // Should this fail, nobody knows whether it is recorded: its room stays held.
        const recorded = await sessions.record(session.id, { number, bytes, tag, ...(digest ? { digest } : {}) });
        if (recorded && recorded.replacedTag === undefined) return { number, bytes };
        await letGo(session.id, roomBytes);
        await forget(place, recorded?.replacedTag ?? tag);
        if (recorded) return { number, bytes };
        await findOpenSession(deps, owner).catch(async (error: unknown) => {
          // Of what was cancelled while the part flowed nothing is left.
          if (error instanceof HttpError && error.statusCode === 404) await abort(place);
          throw error;
        });
        throw serviceUnavailable(new Error('a session was unsealed a moment ago')); // the part can be sent again
      },
    });
  });

  async function isStored(id: string, { number, bytes, digest }: { number: number; bytes: number; digest: Buffer }) {
    const part: RecordedPart | undefined = await sessions.part(id, number);
    return part?.bytes === bytes && part.digest?.equals(digest) === true;
  }

  type Place = { id: string; storeRef: string; number: number };
  type Sent = { bytes: number; digest: Buffer | undefined; senderGone: AbortSignal };

  async function store(raw: IncomingMessage, place: Place, { bytes, digest, senderGone }: Sent): Promise<string> {
    const body = bodyOf(raw);
    try {
      return await blobs.parts.put(place, digest ? ofDigest(body, digest) : body, bytes, senderGone);
    } catch (error) {
      if (error instanceof DigestMismatch) throw invalidRequest(WRONG_DIGEST);
      if (error instanceof LengthMismatch || raw.errored) throw invalidRequest(LENGTH_MISMATCH);
      throw error;
    }
  }

  // Best effort, all of them: what is left goes with the session.
  const letGo = (id: string, bytes: number) => sessions.letGo(id, bytes).catch(left);
  const forget = (place: Place, tag: string) => blobs.parts.drop(place, tag).catch(left);
  const abort = ({ id, storeRef }: Place) => blobs.parts.abort(id, storeRef).catch(left);
  const left = (err: unknown) => logger.warn({ err }, 'a part that is not wanted any more is left to the sweep');
}

function readNumber(text: string, maxParts: number): number {
  const number = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= maxParts) return number;
  throw invalidRequest({ number: [`must be a whole number from 1 to ${maxParts}`] });
}

function assertLength({ isExact, mostBytes, partBytes }: Session, number: number, bytes: number) {
  const count = partCount(mostBytes, partBytes);
  if (number > count) throw invalidRequest({ number: [`must be a whole number from 1 to ${count}`] });
  const most = bytesOfPart(number, mostBytes, partBytes);
  if (isExact && bytes !== most) throw invalidRequest({ 'Content-Length': [`must be ${most}`] });
  if (bytes < 1 || bytes > most) throw invalidRequest({ 'Content-Length': [`must be from 1 to ${most}`] });
}
