import type { NoteContentType } from '@mayfly/client';
import type { Task } from './task.ts';

export type NoteArguments = {
  text: string;
  contentType: NoteContentType;
  expireSec: number;
  maxViews: number;
  noteMaxSize: number;
  password: string | undefined;
};

export function createNote({ text, ...options }: NoteArguments, { client, signal }: Task) {
  return client.createNote(text, { ...options, signal });
}
