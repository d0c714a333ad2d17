import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, requestNotFound } from '../../errors.ts';
import { findOwnRequest } from '../../find-request.ts';
import { ownerIn } from '../../find-upload.ts';

/** Contract: DELETE /api/request/<id>. In every state; the uploads stay their senders'. */
export function deleteRequest(app: App, { requests, requestFunnel }: FilesDeps) {
  const schema = {
    operationId: 'deleteRequest',
    tags: ['requests'],
    summary: 'Delete the request, in any state',
    params: Type.Object({ id: Type.String() }),
    response: { 200: Ok, ...errorAnswers({ 401: badOwnerToken(), 404: requestNotFound(), 413: new HttpError(413) }) },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token("the request's owner token") }) } };
  app.delete('/api/request/:id', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const { id } = await findOwnRequest(requests, ownerIn(request));
    if (!(await requests.remove(id))) throw requestNotFound();
    requestFunnel('deleted');
    return { ok: true as const };
  });
}
