import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError } from '@mayfly/shared/errors';
import { parseId, TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, uploadNotFound } from '../../errors.ts';
import { GIVE_BACK } from '../../give-back.ts';

/** Contract: DELETE /api/parts/<id>. The record first, then the parts. */
export function cancelParts(app: App, { sessions, blobs, logger, funnel }: FilesDeps) {
  const schema = {
    operationId: 'cancelParts',
    tags: ['uploads'],
    summary: 'Give up an upload that comes in parts',
    params: Type.Object({ id: Type.String() }),
    response: { 200: Ok, ...errorAnswers({ 401: badOwnerToken(), 404: uploadNotFound(), 413: new HttpError(413) }) },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.delete('/api/parts/:id', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request, reply) => {
    const id = parseId(request.params.id);
    const session = id && (await sessions.find(id));
    if (!session) throw uploadNotFound();
    if (!tokenMatches(request.headers['x-owner-token'], session.ownerHash)) throw badOwnerToken();
    const cancelled = await sessions.cancel(session.id);
    if (!cancelled) throw uploadNotFound();
    funnel('aborted');
    await blobs.parts.abort(session.id, cancelled.storeRef).catch((err: unknown) => {
      // Best effort: the record is gone and what there is of it is queued for deletion; the janitor tries again.
      logger.warn({ err }, 'parts are left to the janitor');
    });
    reply.header(GIVE_BACK, String(cancelled.givenBackBytes));
    return { ok: true as const };
  });
}
