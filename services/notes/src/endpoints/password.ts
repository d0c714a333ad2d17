import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, NotesDeps } from '../deps.ts';
import { noteGone, noteNotFound, notPasswordProtected, wrongPassword } from '../errors.ts';
import { assertAvailable, findNote } from '../find-note.ts';

/** Contract: POST /api/note/<id>/password. Whether the client has recovered the secret; counts nothing. */
export function password(app: App, { notes }: NotesDeps) {
  const schema = {
    operationId: 'checkNotePassword',
    tags: ['notes'],
    summary: 'Whether the client has recovered the secret',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({ authToken: Token('the auth token') }),
    response: {
      200: Ok,
      ...errorAnswers({
        400: [notPasswordProtected(), invalidRequest({ authToken: ['is required'] })],
        401: wrongPassword(),
        404: noteNotFound(),
        410: [noteGone('expired'), noteGone('limit_reached')],
        413: new HttpError(413),
      }),
    },
  };
  app.post('/api/note/:id/password', { schema, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const note = await findNote(notes, request.params.id);
    if (note.status !== 'available' && !note.hasPassword) throw notPasswordProtected();
    assertAvailable(note);
    if (!note.password) throw notPasswordProtected();
    if (!tokenMatches(request.body.authToken, note.authHash)) throw wrongPassword();
    return { ok: true as const };
  });
}
