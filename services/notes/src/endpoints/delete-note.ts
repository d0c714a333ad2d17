import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, NotesDeps } from '../deps.ts';
import { badOwnerToken, noteNotFound } from '../errors.ts';
import { findNote } from '../find-note.ts';

/** Contract: DELETE /api/note/<id>. In every state. */
export function deleteNote(app: App, { notes, funnel }: NotesDeps) {
  const schema = {
    operationId: 'deleteNote',
    tags: ['notes'],
    summary: 'Delete the note, in any state',
    params: Type.Object({ id: Type.String() }),
    response: { 200: Ok, ...errorAnswers({ 401: badOwnerToken(), 404: noteNotFound(), 413: new HttpError(413) }) },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.delete('/api/note/:id', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const note = await findNote(notes, request.params.id);
    if (!tokenMatches(request.headers['x-owner-token'], note.ownerHash)) throw badOwnerToken();
    if (!(await notes.remove(note.id))) throw noteNotFound();
    funnel('deleted');
    return { ok: true as const };
  });
}
