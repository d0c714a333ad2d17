import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { HooksBody, hooksIn } from '@mayfly/shared/owner-notices';
import Type from 'typebox';
import type { App, NotesDeps } from '../../deps.ts';
import { badOwnerToken, noteGone, noteNotFound } from '../../errors.ts';
import { findOwnNote } from './find-own.ts';
import { OwnedNote, toOwnedNote } from './status.ts';

const params = Type.Object({ id: Type.String() });
const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };

/** Contract: POST /api/own/note/<id>/hooks. Uses that are counted from now on are told. */
export function noteHooks(app: App, { owned, limits }: NotesDeps) {
  const schema = {
    operationId: 'setNoteHooks',
    tags: ['notes'],
    summary: 'Have somebody told when the note is used',
    params,
    body: HooksBody,
    response: {
      200: OwnedNote,
      ...errorAnswers({
        400: invalidRequest({ webhook: ['or push is required'] }),
        401: badOwnerToken(),
        404: noteNotFound(),
        410: [noteGone('expired'), noteGone('limit_reached')],
        413: new HttpError(413),
      }),
    },
  };
  app.post('/api/own/note/:id/hooks', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const find = () => findOwnNote(owned, request.params.id, request.headers);
    const item = await find();
    if (item.status !== 'available') throw noteGone(item.status);
    const hooks = hooksIn(request.body, limits);
    if (!(await owned.setHooks(item.id, hooks))) {
      const { status } = await find(); // 404 when it was deleted meanwhile
      throw noteGone(status === 'available' ? 'limit_reached' : status);
    }
    return toOwnedNote(await find(), limits);
  });
}

/** Contract: DELETE /api/own/note/<id>/hooks. */
export function endNoteHooks(app: App, { owned, limits }: NotesDeps) {
  const schema = {
    operationId: 'endNoteHooks',
    tags: ['notes'],
    summary: 'Have nobody told any more',
    params,
    response: { 200: OwnedNote, ...errorAnswers({ 401: badOwnerToken(), 404: noteNotFound() }) },
  };
  app.delete('/api/own/note/:id/hooks', { schema, config }, async (request) => {
    const find = () => findOwnNote(owned, request.params.id, request.headers);
    await owned.endHooks((await find()).id);
    return toOwnedNote(await find(), limits);
  });
}
