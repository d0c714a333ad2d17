import { errorAnswers } from '@mayfly/shared/answers';
import { invalidRequest } from '@mayfly/shared/errors';
import { Token } from '@mayfly/shared/fields';
import { recordUse } from '@mayfly/shared/telemetry/funnel';
import { tokenMatches } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, NotesDeps } from '../deps.ts';
import { badAuthToken, noteGone, noteNotFound } from '../errors.ts';
import { assertAvailable, findNote } from '../find-note.ts';

const View = Type.Object({
  encryptedContent: Type.String({ description: 'base64' }),
  nonce: Type.String({ description: 'base64 of 12 bytes' }),
  viewCount: Type.Integer({ description: 'views so far, this one included' }),
  maxViews: Type.Integer(),
});

/** Contract: POST /api/note/<id>/view. Counts one view; the last one erases the content. */
export function view(app: App, { notes, funnel }: NotesDeps) {
  const schema = {
    operationId: 'viewNote',
    tags: ['notes'],
    summary: 'Read the encrypted content; counts one view',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({ authToken: Token('the auth token') }),
    response: {
      200: View,
      ...errorAnswers({
        400: invalidRequest({ authToken: ['is required'] }),
        401: badAuthToken(),
        404: noteNotFound(),
        410: [noteGone('expired'), noteGone('limit_reached')],
      }),
    },
  };
  app.post('/api/note/:id/view', { schema }, async (request) => {
    const note = await findNote(notes, request.params.id);
    assertAvailable(note);
    if (!tokenMatches(request.body.authToken, note.authHash)) throw badAuthToken();
    const counted = await notes.claimView(note.id);
    if (counted) {
      recordUse(funnel, counted.viewCount, counted.maxViews);
      return counted;
    }
    const now = await findNote(notes, note.id); // somebody else took the last view, or the time or the owner came first
    throw noteGone(now.status === 'available' ? 'limit_reached' : now.status);
  });
}
