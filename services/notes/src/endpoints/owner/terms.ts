import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { assertTerms, belowWhatWasUsed, longestLife, NewExpireSec } from '@mayfly/shared/owner-terms';
import Type from 'typebox';
import type { App, NotesDeps } from '../../deps.ts';
import { badOwnerToken, noteGone, noteNotFound } from '../../errors.ts';
import { findOwnNote } from './find-own.ts';
import { OwnedNote, toOwnedNote } from './status.ts';

/** Contract: POST /api/own/note/<id>/terms. All or nothing, in one step with the views that are counted meanwhile. */
export function noteTerms(app: App, { owned, limits }: NotesDeps) {
  const { NOTE_EXPIRE_OPTIONS_SEC: expireOptions, NOTE_VIEW_OPTIONS: options } = limits;
  const longestSec = longestLife(limits, expireOptions);
  const schema = {
    operationId: 'setNoteTerms',
    tags: ['notes'],
    summary: 'Give the note another end, or another number of views',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({
      expireSec: NewExpireSec(expireOptions),
      maxViews: Type.Optional(Type.Integer({ minimum: 0, description: 'one of the options, or what was used' })),
    }),
    response: {
      200: OwnedNote,
      ...errorAnswers({
        400: invalidRequest({ maxViews: ['or expireSec is required'] }),
        401: badOwnerToken(),
        404: noteNotFound(),
        409: belowWhatWasUsed(),
        410: [noteGone('expired'), noteGone('limit_reached')],
        413: new HttpError(413),
      }),
    },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.post('/api/own/note/:id/terms', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const { expireSec, maxViews: uses } = request.body;
    const find = () => findOwnNote(owned, request.params.id, request.headers);
    const { id, status, usedCount } = await find();
    if (status !== 'available') throw noteGone(status);
    assertTerms({ expireSec, uses }, { name: 'maxViews', options, usedCount });
    const verdict = await owned.setTerms(id, { expireSec, mostUses: uses }, longestSec);
    const now = await find();
    if (verdict === 'changed') return toOwnedNote(now, limits);
    if (verdict === 'used') throw belowWhatWasUsed();
    throw noteGone(now.status === 'available' ? 'limit_reached' : now.status);
  });
}
