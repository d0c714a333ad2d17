import { type App, createApp } from '@mayfly/shared/app';
import { describedEndpoints } from '@mayfly/shared/describe-api';
import type { NotesDeps } from './deps.ts';
import { createNote } from './endpoints/create-note.ts';
import { deleteNote } from './endpoints/delete-note.ts';
import { note } from './endpoints/note.ts';
import { password } from './endpoints/password.ts';
import { ready } from './endpoints/ready.ts';
import { view } from './endpoints/view.ts';

/** The notes service: the contract's note endpoints, one file each. */
export function buildNotes(deps: NotesDeps): App {
  const app = createApp(deps);
  describedEndpoints(app, (scope) => {
    for (const endpoint of [createNote, note, view, password, deleteNote, ready]) endpoint(scope, deps);
  });
  return app;
}
