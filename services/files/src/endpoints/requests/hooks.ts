import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { HooksBody, hooksIn } from '@mayfly/shared/owner-notices';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, requestExpired, requestNotFound } from '../../errors.ts';
import { findOwnRequest } from '../../find-request.ts';
import { ownerIn } from '../../find-upload.ts';
import { OwnedRequest, toOwnedRequest } from './drops.ts';

const params = Type.Object({ id: Type.String() });
const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token("the request's owner token") }) } };

/** Contract: POST /api/own/request/<id>/hooks. Drops from now on are told. */
export function requestHooks(app: App, deps: FilesDeps) {
  const { requests, limits } = deps;
  const schema = {
    operationId: 'setRequestHooks',
    tags: ['requests'],
    summary: 'Have somebody told when something is sent',
    params,
    body: HooksBody,
    response: {
      200: OwnedRequest,
      ...errorAnswers({
        400: invalidRequest({ webhook: ['or push is required'] }),
        401: badOwnerToken(),
        404: requestNotFound(),
        410: requestExpired(),
        413: new HttpError(413),
      }),
    },
  };
  app.post('/api/own/request/:id/hooks', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const find = () => findOwnRequest(requests, ownerIn(request));
    const { id, status } = await find();
    if (status !== 'open') throw requestExpired();
    if (!(await requests.setHooks(id, hooksIn(request.body, limits)))) throw requestExpired();
    return toOwnedRequest(await find(), deps);
  });
}

/** Contract: DELETE /api/own/request/<id>/hooks. */
export function endRequestHooks(app: App, deps: FilesDeps) {
  const { requests } = deps;
  const schema = {
    operationId: 'endRequestHooks',
    tags: ['requests'],
    summary: 'Have nobody told any more',
    params,
    response: { 200: OwnedRequest, ...errorAnswers({ 401: badOwnerToken(), 404: requestNotFound() }) },
  };
  app.delete('/api/own/request/:id/hooks', { schema, config }, async (request) => {
    const find = () => findOwnRequest(requests, ownerIn(request));
    await requests.endHooks((await find()).id);
    return toOwnedRequest(await find(), deps);
  });
}
