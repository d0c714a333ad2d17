import { createNote } from './create-note.ts';
import { download } from './download.ts';
import { getConfig, look, remove, unlock, viewNote } from './single-call-tasks.ts';
import type { Task } from './task.ts';
import { measure, upload } from './upload.ts';

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
