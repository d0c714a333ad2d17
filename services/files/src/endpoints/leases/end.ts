import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badAuthToken, uploadGone, uploadNotFound } from '../../errors.ts';
import { headers, leaseOf, NO_LEASE } from './lease-of.ts';

/** Contract: DELETE /api/lease/<id>. The recipient has all, or wants no more: the payload need not wait. */
export function endLease(app: App, deps: FilesDeps) {
  const schema = {
    operationId: 'endLease',
    tags: ['uploads'],
    summary: 'End a download; one that brought nothing does not count',
    params: Type.Object({ id: Type.String() }),
    querystring: Type.Object({
      whole: Type.Optional(
        Type.String({
          description: '`true` when all of it has arrived, which the owner is told; anything else says nothing',
        }),
      ),
    }),
    response: {
      200: Ok,
      ...errorAnswers({
        400: invalidRequest(NO_LEASE),
        401: badAuthToken(),
        404: uploadNotFound(),
        410: uploadGone(),
        413: new HttpError(413),
      }),
    },
  };
  const config = { docs: { headers } };
  app.delete('/api/lease/:id', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const { key } = await leaseOf(deps, request.params.id, request.headers);
    await deps.leases.end(key, request.query.whole === 'true');
    return { ok: true as const };
  });
}
