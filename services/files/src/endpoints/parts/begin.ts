import { randomUUID } from 'node:crypto';
import { errorAnswers } from '@mayfly/shared/answers';
import { problemsByField } from '@mayfly/shared/error-answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { Id, OneOf, Timestamp, TOKEN_BODY_BYTES } from '@mayfly/shared/fields';
import type { PartLimits } from '@mayfly/shared/part-limits';
import { partCount } from '@mayfly/store/upload-sessions';
import Type, { type Static } from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { FILE_TOO_LARGE, noRoomForUpload, withoutRoom } from '../../errors.ts';
import { linkTo } from '../../link.ts';
import { headersWith, readHeaders, toNewUpload } from '../upload-headers.ts';

function sessionHeaders(limits: FilesDeps['limits'], { minBytes, maxBytes, maxFileSize }: PartLimits) {
  const length = (description: string) =>
    Type.Optional(Type.Integer({ minimum: 1, maximum: maxFileSize, description: `${description}, in bytes` }));
  return headersWith(limits, {
    'X-Upload-Length': length('exact payload size; this or X-Upload-Length-Max is required'),
    'X-Upload-Length-Max': length('the most that the payload may have, when its size is not known yet'),
    'X-Part-Bytes': Type.Integer({
      minimum: minBytes,
      maximum: maxBytes,
      description: 'size in bytes of every part but the last',
    }),
    'X-Announce': Type.Optional(OneOf(['true', 'false'], 'whether GET /api/arrival/<id> tells how far it is')),
  });
}

type SessionHeaders = Static<ReturnType<typeof sessionHeaders>>;

/** Contract: POST /api/parts. The upload has its id and its address from now on, and nobody can see it. */
export function beginParts(app: App, deps: FilesDeps, parts: PartLimits) {
  const { sessions, blobs, limits, logger, funnel, newId = randomUUID } = deps;
  const headersSchema = sessionHeaders(limits, parts);
  const names = Object.keys(headersSchema.properties);
  const schema = {
    operationId: 'beginParts',
    tags: ['uploads'],
    summary: 'Begin an upload that comes in parts',
    response: {
      201: Type.Object({
        id: Id,
        url: Type.String(),
        partBytes: Type.Integer(),
        parts: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'null while the size is unknown' }),
        endsAt: Timestamp,
      }),
      ...errorAnswers({
        400: invalidRequest({ 'X-Part-Bytes': ['is required'] }),
        413: [new HttpError(413, FILE_TOO_LARGE), new HttpError(413)],
        507: noRoomForUpload(),
      }),
    },
  };
  const config = { docs: { headers: headersSchema } };
  app.post('/api/parts', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request, reply) => {
    const headers = readHeaders(request.headers, names);
    const declared = [headers['X-Upload-Length'], headers['X-Upload-Length-Max']];
    if (declared.some((length) => Number(length) > parts.maxFileSize)) throw new HttpError(413, FILE_TOO_LARGE);
    const validate = request.compileValidationSchema(headersSchema, 'headers');
    const problems = validate(headers) ? {} : problemsByField(validate.errors ?? [], 'headers');
    const known = headers as SessionHeaders; // validated above, or not used
    const most = known['X-Upload-Length'] ?? known['X-Upload-Length-Max'] ?? 0;
    Object.assign(problems, contradictions(known, most, parts.maxParts));
    if (Object.keys(problems).length > 0) throw invalidRequest(problems);

    const upload = toNewUpload(newId(), known, most);
    const { id } = upload;
    const partBytes = known['X-Part-Bytes'];
    const isExact = known['X-Upload-Length'] !== undefined;
    using _room = await blobs.reserve(id, most).catch(withoutRoom);
    const storeRef = await blobs.parts.begin(id);
    const session = { storeRef, partBytes, isExact, isAnnounced: known['X-Announce'] === 'true' };
    try {
      const endsAt = await sessions.begin(upload, { ...session, sessionSec: parts.sessionSec });
      funnel('started');
      const count = isExact ? partCount(most, partBytes) : null;
      return reply
        .code(201)
        .send({ id, url: linkTo(id, request.headers), partBytes, parts: count, endsAt: endsAt.toISOString() });
    } catch (error) {
      // Best effort: what is left is found by the sweep, or by the next comparison.
      await Promise.all([sessions.cancel(id), blobs.parts.abort(id, storeRef)]).catch((err: unknown) =>
        logger.warn({ err }, 'a session that failed is left to the sweep'),
      );
      return withoutRoom(error);
    }
  });
}

/** What is wrong with headers each of which is acceptable by itself. */
function contradictions(headers: SessionHeaders, most: number, maxParts: number): Record<string, string[]> {
  const hasBoth = headers['X-Upload-Length'] !== undefined && headers['X-Upload-Length-Max'] !== undefined;
  if (hasBoth) return { 'X-Upload-Length-Max': ['must not be sent with X-Upload-Length'] };
  if (most === 0 && headers['X-Upload-Length'] === undefined && headers['X-Upload-Length-Max'] === undefined) {
    return { 'X-Upload-Length': ['is required'] };
  }
  const partBytes = headers['X-Part-Bytes'];
  if (partBytes > 0 && partCount(most, partBytes) > maxParts) {
    return { 'X-Part-Bytes': [`must be at least ${Math.ceil(most / maxParts)} for at most ${maxParts} parts`] };
  }
  return {};
}
