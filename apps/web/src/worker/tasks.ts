import type { MayflyClient } from '@mayfly/client';
import { createNote } from './create-note.ts';
import { download } from './download.ts';
import { getConfig, look, remove, unlock, viewNote } from './small-tasks.ts';
import { measure, upload } from './upload.ts';

/** What a task has besides its arguments. Events are for the page that asked. */
export type Task = {
  client: MayflyClient;
  signal: AbortSignal;
  report(event: TaskEvent): void;
  /** Resolves when the page wants the failed step tried again. */
  again(): Promise<void>;
};

export type TaskEvent =
  | { kind: 'progress'; phase: 'encrypting' | 'sending' | 'receiving'; doneBytes: number; totalBytes: number }
  /** A step failed for a reason that may pass: the task waits, for the page or for a moment. */
  | { kind: 'trouble'; code: string; retryAfterSec: number | undefined }
  /** It goes on. */
  | { kind: 'resumed' };

/** A task whose code is loaded with its first use. */
function later<A, R>(load: () => Promise<(args: A, task: Task) => R>) {
  return async (args: A, task: Task): Promise<Awaited<R>> => await (await load())(args, task);
}

/** Everything that touches a key or takes time, by the name that the page calls it by. */
export const tasks = {
  getConfig,
  look,
  unlock,
  measure,
  upload,
  createNote,
  download,
  viewNote,
  remove,
  downloadToFolder: later(async () => (await import('./download-to-folder.ts')).downloadToFolder),
  status: later(async () => (await import('./list-tasks.ts')).status),
  exportList: later(async () => (await import('./list-tasks.ts')).exportList),
  importList: later(async () => (await import('./list-tasks.ts')).importList),
};

type Tasks = typeof tasks;
export type TaskName = keyof Tasks;
export type Arguments<N extends TaskName> = Parameters<Tasks[N]>[0];
export type Result<N extends TaskName> = Awaited<ReturnType<Tasks[N]>>;
