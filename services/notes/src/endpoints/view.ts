import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { recordUse } from '@mayfly/shared/telemetry/funnel';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { Note, Repeat } from '@mayfly/store/notes';
import Type from 'typebox';
import type { App, NotesDeps } from '../deps.ts';
import { badAuthToken, noteGone, noteNotFound } from '../errors.ts';
import { assertAvailable, findNote } from '../find-note.ts';
import { IdempotencyKey, readRepeat } from '../idempotency-key.ts';
import { largeViews } from '../large-views.ts';

const View = Type.Object({
  encryptedContent: Type.String({ description: 'base64' }),
  nonce: Type.String({ description: 'base64 of 12 bytes' }),
  viewCount: Type.Integer({ description: 'views so far, this one included' }),
  maxViews: Type.Integer(),
});

/** Contract: POST /api/note/<id>/view. Counts one view; the last one erases the content. Decision 89 on repetitions. */
export function view(app: App, { notes, funnel, limits }: NotesDeps) {
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
        413: new HttpError(413),
      }),
    },
  };
  const turn = largeViews();
  const isRepeatable = limits.VIEW_REPEAT_SEC > 0;
  const config = isRepeatable ? { docs: { headers: Type.Object({ 'Idempotency-Key': IdempotencyKey }) } } : {};
  app.post('/api/note/:id/view', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request, reply) => {
    const { authToken } = request.body;
    const repeat = readRepeat(request.headers, limits.VIEW_REPEAT_SEC);
    const note = await findNote(notes, request.params.id);
    if (!mayBeRepeated(note, authToken, repeat)) {
      assertAvailable(note);
      if (!tokenMatches(authToken, note.authHash)) throw badAuthToken();
    }
    const { contentLength = 0 } = note;
    await turn(contentLength, reply.raw);
    const view = await notes.claimView(note.id, repeat, contentLength);
    if (view) {
      const { isRepeat, ...answer } = view;
      if (!isRepeat) recordUse(funnel, view.viewCount, view.maxViews);
      return answer;
    }
    const now = await findNote(notes, note.id); // somebody else took the last view, or the time or the owner came first
    throw noteGone(now.status === 'available' ? 'limit_reached' : now.status);
  });
}

/** A used-up note still opens for whoever viewed it a moment ago; everybody else gets its 410. */
function mayBeRepeated(note: Note, authToken: string, repeat: Repeat | undefined): boolean {
  if (!repeat || note.status !== 'limit_reached' || !note.authHash) return false;
  return tokenMatches(authToken, note.authHash);
}
