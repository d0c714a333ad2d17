import { type App, createApp } from '@mayfly/shared/app';
import { describedEndpoints } from '@mayfly/shared/describe-api';
import { openFunnel } from '@mayfly/shared/telemetry/funnel';
import type { NotesDeps } from './deps.ts';
import { createNote } from './endpoints/create-note.ts';
import { deleteNote } from './endpoints/delete-note.ts';
import { note } from './endpoints/note.ts';
import { ownNotes } from './endpoints/owner.ts';
import { password } from './endpoints/password.ts';
import { ready } from './endpoints/ready.ts';
import { view } from './endpoints/view.ts';

/** The notes service: the contract's note endpoints, one file each. */
export function buildNotes(given: Omit<NotesDeps, 'funnel'>): App {
  const deps = { ...given, funnel: openFunnel('note') };
  const app = createApp({ ...deps, service: 'notes' });
  describedEndpoints(app, (scope) => {
    for (const endpoint of [createNote, note, view, password, deleteNote, ready]) endpoint(scope, deps);
    ownNotes(scope, deps);
  });
  return app;
}
