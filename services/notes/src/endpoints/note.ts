import { errorAnswers } from '@mayfly/shared/answers';
import { Id, PasswordAlgo, Timestamp } from '@mayfly/shared/fields';
import type { AvailableNote } from '@mayfly/store/notes';
import Type, { type Static } from 'typebox';
import type { App, NotesDeps } from '../deps.ts';
import { noteGone, noteNotFound } from '../errors.ts';
import { assertAvailable, findNote } from '../find-note.ts';

const NoteInfo = Type.Object({
  id: Id,
  contentType: Type.String(),
  hasPassword: Type.Boolean(),
  passwordAlgo: Type.Optional(PasswordAlgo),
  passwordSalt: Type.Optional(Type.String({ description: 'base64url of 16 bytes' })),
  salt: Type.String({ description: 'base64url of 16 bytes' }),
  maxViews: Type.Integer(),
  viewCount: Type.Integer(),
  expiresAt: Timestamp,
  createdAt: Timestamp,
});

/** Contract: GET /api/note/<id>. What everyone with the id may know; never the content. */
export function note(app: App, { notes }: NotesDeps) {
  const schema = {
    operationId: 'getNote',
    tags: ['notes'],
    summary: 'What everyone with the id may know',
    params: Type.Object({ id: Type.String() }),
    response: {
      200: NoteInfo,
      ...errorAnswers({ 404: noteNotFound(), 410: [noteGone('expired'), noteGone('limit_reached')] }),
    },
  };
  app.get('/api/note/:id', { schema }, async (request) => {
    const found = await findNote(notes, request.params.id);
    assertAvailable(found);
    return describe(found);
  });
}

function describe(found: AvailableNote): Static<typeof NoteInfo> {
  return {
    id: found.id,
    contentType: found.contentType,
    hasPassword: found.password !== undefined,
    ...(found.password ? { passwordAlgo: found.password.algo, passwordSalt: found.password.salt } : {}),
    salt: found.salt,
    maxViews: found.maxViews,
    viewCount: found.viewCount,
    expiresAt: found.expiresAt.toISOString(),
    createdAt: found.createdAt.toISOString(),
  };
}
