import { randomUUID } from 'node:crypto';
import { errorAnswers } from '@mayfly/shared/answers';
import { awaitsContinue } from '@mayfly/shared/app';
import { clientGone } from '@mayfly/shared/client-gone';
import { problemsByField } from '@mayfly/shared/error-answers';
import { HttpError, invalidRequest, LENGTH_MISMATCH, lengthRequired } from '@mayfly/shared/errors';
import { Id } from '@mayfly/shared/fields';
import { bodyOf } from '@mayfly/shared/read-buffers';
import { LengthMismatch } from '@mayfly/store/blobs';
import type { NewUpload } from '@mayfly/store/uploads';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { FILE_TOO_LARGE, noRoomForUpload, withoutRoom } from '../errors.ts';
import { keepLease, LEASE_SEC } from '../lease.ts';
import { linkTo } from '../link.ts';
import { publish } from '../publish.ts';
import { readHeaders, toNewUpload, type UploadHeaders, uploadHeaders } from './upload-headers.ts';

/** Contract: POST /api/upload. Nothing exists for anyone until the last byte is stored. */
export function upload(app: App, { uploads, blobs, limits, logger, funnel, newId = randomUUID }: FilesDeps) {
  const headersSchema = uploadHeaders(limits);
  const names = Object.keys(headersSchema.properties);

  app.register(async (scope) => {
    // The body is bytes, whatever type it claims; it goes to the blob store as it comes.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.decorateRequest('newUpload', null);

    scope.route({
      method: 'POST',
      url: '/api/upload',
      bodyLimit: limits.MAX_FILE_SIZE,
      config: {
        tooLarge: FILE_TOO_LARGE,
        continuesItself: true, // when there is room for the body
        docs: { headers: headersSchema, consumes: 'application/octet-stream' },
      },
      schema: {
        operationId: 'uploadFile',
        tags: ['uploads'],
        summary: 'Upload an encrypted payload',
        response: {
          200: Type.Object({ id: Id, url: Type.String() }),
          ...errorAnswers({
            400: [invalidRequest({ 'X-Salt': ['is required'] }), invalidRequest(LENGTH_MISMATCH)],
            411: lengthRequired(),
            413: new HttpError(413, FILE_TOO_LARGE),
            507: noRoomForUpload(),
          }),
        },
      },

      onRequest: async (request) => {
        request.raw.headers['content-type'] = 'application/octet-stream';
        if (request.headers['content-length'] === undefined) throw lengthRequired();
        const headers = readHeaders(request.headers, names);
        const validate = request.compileValidationSchema(headersSchema, 'headers');
        if (!validate(headers)) throw invalidRequest(problemsByField(validate.errors ?? [], 'headers'));
        const valid = headers as UploadHeaders; // validated above
        request.setDecorator('newUpload', toNewUpload(newId(), valid, valid['Content-Length']));
      },

      handler: async (request, reply) => {
        const upload = request.getDecorator<NewUpload>('newUpload');
        const { id, sizeBytes } = upload;
        using _room = await blobs.reserve(id, sizeBytes).catch(withoutRoom);
        await uploads.begin(upload, LEASE_SEC).catch(withoutRoom);
        if (awaitsContinue(request)) reply.raw.writeContinue();
        funnel('started');
        const endLease = keepLease(() => uploads.renewLease(id, LEASE_SEC), logger);
        const senderGone = clientGone(reply.raw);
        try {
          await blobs.put(id, bodyOf(request.raw), sizeBytes, senderGone);
          await publish(uploads, id, senderGone);
          funnel('finished');
        } catch (error) {
          funnel('aborted');
          await takeBack(id, request.raw.complete && !(error instanceof LengthMismatch));
          if (error instanceof LengthMismatch || request.raw.errored) throw invalidRequest(LENGTH_MISMATCH);
          return withoutRoom(error);
        } finally {
          endLease();
        }
        return { id, url: linkTo(id, request.headers) };
      },
    });
  });

  /** A payload that was sent whole may reach the store after this: its deletion stays queued, to delete it again. */
  async function takeBack(id: string, wasWhole: boolean) {
    try {
      await uploads.abandon(id);
      if (wasWhole) await uploads.remove(id); // it may have become available, though nobody was told
      const failed = await blobs.delete([id]);
      if (failed.length === 0 && !wasWhole) await uploads.blobsDeleted([id]);
    } catch (err) {
      // Best effort: the lease ends, and the sweep finds the row with its blob.
      logger.warn({ err }, 'an upload that failed is left to the sweep');
    }
  }
}
