import { errorAnswers } from '@mayfly/shared/answers';
import { Id, OneOf, Timestamp, Token } from '@mayfly/shared/fields';
import { type NoticeLimits, noticeKinds } from '@mayfly/shared/owner-notices';
import type { FileRequest, ReceivedDrop } from '@mayfly/store/file-requests';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, requestNotFound } from '../../errors.ts';
import { findOwnRequest } from '../../find-request.ts';
import { ownerIn } from '../../find-upload.ts';
import { Room, toRoom } from './info.ts';

const ReceivedDrops = Type.Array(
  Type.Object({
    uploadId: Id,
    enc: Type.String(),
    sealed: Type.String(),
    bytes: Type.Integer({ description: 'of its payload' }),
    at: Type.Optional(
      Type.String({ format: 'date-time', description: 'to the minute; absent where times are not kept' }),
    ),
    available: Type.Boolean({ description: 'whether the upload can be downloaded' }),
  }),
);

export const OwnedRequest = Type.Object({
  state: OneOf(['open', 'full', 'expired'], 'whether it takes more'),
  ...Room,
  createdAt: Timestamp,
  hooks: Type.Optional(Type.Integer({ minimum: 0, description: 'who is told of drops; absent where nobody can be' })),
  drops: ReceivedDrops,
});

/** A request as whoever has asked sees it. */
export async function toOwnedRequest(
  request: FileRequest,
  { requests, uploads, limits }: Pick<FilesDeps, 'requests' | 'uploads'> & { limits: NoticeLimits },
) {
  const drops = await requests.drops(request.id);
  const isFull = request.dropCount >= request.maxDrops || request.byteCount >= request.maxBytes;
  return {
    state: request.status === 'open' && isFull ? ('full' as const) : request.status,
    ...toRoom(request),
    createdAt: request.createdAt.toISOString(),
    ...(noticeKinds(limits) ? { hooks: request.hookCount } : {}),
    drops: await Promise.all(drops.map((drop) => toAnswer(drop, uploads))),
  };
}

async function toAnswer({ at, ...drop }: ReceivedDrop, uploads: FilesDeps['uploads']) {
  const available = (await uploads.find(drop.uploadId))?.status === 'available';
  return { ...drop, ...(at ? { at: at.toISOString() } : {}), available };
}

/** Contract: GET /api/request/<id>/drops. For whoever has asked, also when it has expired. */
export function drops(app: App, { requests, uploads, limits }: FilesDeps) {
  const schema = {
    operationId: 'requestDrops',
    tags: ['requests'],
    summary: 'What was sent, for whoever has asked',
    params: Type.Object({ id: Type.String() }),
    response: { 200: OwnedRequest, ...errorAnswers({ 401: badOwnerToken(), 404: requestNotFound() }) },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token("the request's owner token") }) } };
  app.get('/api/request/:id/drops', { schema, config }, async (request) =>
    toOwnedRequest(await findOwnRequest(requests, ownerIn(request)), { requests, uploads, limits }),
  );
}
