import { ownerEndpoints } from '@mayfly/shared/owner-endpoints';
import type { App, NotesDeps } from '../deps.ts';
import { badOwnerToken, noteGone, noteNotFound } from '../errors.ts';

/** Contract: GET /api/own/note/<id>, POST its /terms and /hooks, DELETE its /hooks. */
export function ownNotes(app: App, { owned, limits, blocks }: NotesDeps) {
  const words = { kind: 'note', uses: 'views', usedCount: 'viewCount', mostUses: 'maxViews' } as const;
  ownerEndpoints(app, limits, owned, {
    ...words,
    blocks,
    expireOptions: limits.NOTE_EXPIRE_OPTIONS_SEC,
    useOptions: limits.NOTE_VIEW_OPTIONS,
    badOwnerToken,
    notFound: noteNotFound,
    gone: noteGone,
    allGone: [noteGone('expired'), noteGone('limit_reached')],
  });
}
