import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError } from '@mayfly/shared/errors';
import { Timestamp, TOKEN_BODY_BYTES } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { requestExpired, requestFull, requestNotFound } from '../../errors.ts';
import { findRequest } from '../../find-request.ts';

/** Contract 16.1: POST /api/request/<id>/slot. The gateway has made the slot; here is decided whether there is one to give. */
export function slot(app: App, { requests }: FilesDeps) {
  const schema = {
    operationId: 'takeSlot',
    tags: ['requests'],
    summary: 'A permission to create what is to be dropped',
    params: Type.Object({ id: Type.String() }),
    response: {
      201: Type.Object({ slot: Type.String(), endsAt: Timestamp }),
      ...errorAnswers({ 404: requestNotFound(), 410: [requestExpired(), requestFull()], 413: new HttpError(413) }),
    },
  };
  app.post('/api/request/:id/slot', { schema, bodyLimit: TOKEN_BODY_BYTES }, async ({ params, headers }, reply) => {
    const request = await findRequest(requests, params.id);
    if (request.status !== 'open') throw requestExpired();
    if (request.dropCount >= request.maxDrops || request.byteCount >= request.maxBytes) throw requestFull();
    const [made = '', endsAt = ''] = String(headers['x-mayfly-slot']).split(' ');
    reply.code(201);
    return { slot: made, endsAt };
  });
}
