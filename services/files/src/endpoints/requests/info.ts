import { errorAnswers } from '@mayfly/shared/answers';
import { Nullable, Timestamp } from '@mayfly/shared/fields';
import type { FileRequest } from '@mayfly/store/file-requests';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { requestExpired, requestNotFound } from '../../errors.ts';
import { findRequest } from '../../find-request.ts';

/** What senders and whoever has asked see alike. */
export const Room = {
  maxDrops: Type.Integer(),
  dropsLeft: Type.Integer({ minimum: 0 }),
  maxBytes: Type.Integer(),
  bytesLeft: Type.Integer({ minimum: 0 }),
  dropExpireSec: Type.Integer({ description: 'lifetime that each upload is to choose' }),
  dropMaxDownloads: Type.Integer({ description: 'downloads that each upload is to allow' }),
  greeting: Nullable('what is asked for, encrypted'),
  nonce: Nullable('its nonce'),
  expiresAt: Timestamp,
};

export const toRoom = ({ greeting, expiresAt, ...request }: FileRequest) => ({
  maxDrops: request.maxDrops,
  dropsLeft: request.maxDrops - request.dropCount,
  maxBytes: request.maxBytes,
  bytesLeft: request.maxBytes - request.byteCount,
  dropExpireSec: request.dropExpireSec,
  dropMaxDownloads: request.dropMaxDownloads,
  greeting: greeting?.ciphertext ?? null,
  nonce: greeting?.nonce ?? null,
  expiresAt: expiresAt.toISOString(),
});

/** Contract: GET /api/request/<id>. For whoever wants to send. */
export function requestInfo(app: App, { requests }: FilesDeps) {
  const schema = {
    operationId: 'requestInfo',
    tags: ['requests'],
    summary: 'What is asked for, and how much room is left',
    params: Type.Object({ id: Type.String() }),
    response: {
      200: Type.Object({ publicKey: Type.String(), ...Room }),
      ...errorAnswers({ 404: requestNotFound(), 410: requestExpired() }),
    },
  };
  app.get('/api/request/:id', { schema }, async ({ params }) => {
    const request = await findRequest(requests, params.id);
    if (request.status !== 'open') throw requestExpired();
    return { publicKey: request.publicKey, ...toRoom(request) };
  });
}
