import { errorAnswers } from '@mayfly/shared/answers';
import { Token } from '@mayfly/shared/fields';
import type { NoticeLimits } from '@mayfly/shared/owner-notices';
import { Owned, toOwned } from '@mayfly/shared/owner-terms';
import type { OwnedItem } from '@mayfly/store/owned-items';
import Type from 'typebox';
import type { App, NotesDeps } from '../../deps.ts';
import { badOwnerToken, noteNotFound } from '../../errors.ts';
import { findOwnNote } from './find-own.ts';

export const OwnedNote = Type.Object({
  ...Owned,
  viewCount: Type.Integer({ minimum: 0 }),
  maxViews: Type.Integer({ minimum: 0 }),
});

export const toOwnedNote = (item: OwnedItem, limits: NoticeLimits) => ({
  ...toOwned(item, limits),
  viewCount: item.usedCount,
  maxViews: item.mostUses,
});

/** Contract: GET /api/own/note/<id>. For its owner, also when it is over. */
export function noteStatus(app: App, { owned, limits }: NotesDeps) {
  const schema = {
    operationId: 'ownNoteStatus',
    tags: ['notes'],
    summary: 'What became of the note, for its owner',
    params: Type.Object({ id: Type.String() }),
    response: { 200: OwnedNote, ...errorAnswers({ 401: badOwnerToken(), 404: noteNotFound() }) },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.get('/api/own/note/:id', { schema, config }, async ({ params, headers }) =>
    toOwnedNote(await findOwnNote(owned, params.id, headers), limits),
  );
}
