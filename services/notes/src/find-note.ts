import { parseId } from '@mayfly/shared/fields';
import type { AvailableNote, Note, Notes } from '@mayfly/store/notes';
import { noteGone, noteNotFound } from './errors.ts';

/** The note in whatever state, or 404; a malformed id is an unknown one. Contract 1. */
export async function findNote(notes: Notes, idText: string): Promise<Note> {
  const id = parseId(idText);
  const note = id && (await notes.find(id));
  if (!note) throw noteNotFound();
  return note;
}

/** Narrows to a note that can be viewed, or 410. */
export function assertAvailable(note: Note): asserts note is AvailableNote {
  if (note.status !== 'available') throw noteGone(note.status);
}
