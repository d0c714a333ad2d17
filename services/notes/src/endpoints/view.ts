import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { parseId, TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { recordUse } from '@mayfly/shared/telemetry/funnel';
import { hashToken, tokenMatches } from '@mayfly/shared/tokens';
import type { View as Claimed, Note, Notes, Repeat } from '@mayfly/store/notes';
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

/** Contract: POST /api/note/<id>/view. Counts one view; the last one erases the content. Decision repeatable-views. */
export function view(app: App, { notes, funnel, limits, viewPatience }: NotesDeps) {
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
  const turn = largeViews(viewPatience);
  const counted = ({ isRepeat, ...answer }: Claimed) => {
    if (!isRepeat) recordUse(funnel, answer.viewCount, answer.maxViews);
    return answer;
  };
  const isRepeatable = limits.VIEW_REPEAT_SEC > 0;
  const config = isRepeatable ? { docs: { headers: Type.Object({ 'Idempotency-Key': IdempotencyKey }) } } : {};
  app.post('/api/note/:id/view', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request, reply) => {
    const { authToken } = request.body;
    const repeat = readRepeat(request.headers, limits.VIEW_REPEAT_SEC);
    const small = await claimSmallView(notes, request.params.id, authToken, repeat);
    if (small) return counted(small);
    // It is large, or there is something wrong.
    const note = await findNote(notes, request.params.id);
    if (!mayBeRepeated(note, authToken, repeat)) {
      assertAvailable(note);
      if (!tokenMatches(authToken, note.authHash)) throw badAuthToken();
    }
    await turn(note.contentLength ?? 0, reply.raw);
    const view = await notes.claimView(note.id, repeat);
    if (view) return counted(view);
    const now = await findNote(notes, note.id); // somebody else took the last view, or the time or the owner came first
    throw noteGone(now.status === 'available' ? 'limit_reached' : now.status);
  });
}

async function claimSmallView(notes: Notes, idText: string, authToken: string, repeat: Repeat | undefined) {
  const id = parseId(idText);
  return id ? notes.claimSmallView(id, hashToken(authToken), repeat) : undefined;
}

/** A used-up note still opens for whoever viewed it a moment ago; everybody else gets its 410. */
function mayBeRepeated(note: Note, authToken: string, repeat: Repeat | undefined): boolean {
  if (!repeat || note.status !== 'limit_reached' || !note.authHash) return false;
  return tokenMatches(authToken, note.authHash);
}
