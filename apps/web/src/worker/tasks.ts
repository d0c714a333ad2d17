import { createNote } from './create-note.ts';
import { download } from './download.ts';
import { endDownload, getArrival, getConfig, look, remove, unlock, viewNote } from './single-call-tasks.ts';
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
  getArrival,
  unlock,
  measure,
  upload,
  createNote,
  download,
  endDownload,
  viewNote,
  remove,
  downloadToFolder: later(async () => (await import('./download-to-folder.ts')).downloadToFolder),
  readFile: later(async () => (await import('./content-tasks.ts')).readFile),
  saveFile: later(async () => (await import('./content-tasks.ts')).saveFile),
  unpackFiles: later(async () => (await import('./content-tasks.ts')).unpackFiles),
  resume: later(async () => (await import('./unfinished-tasks.ts')).resume),
  storedShare: later(async () => (await import('./unfinished-tasks.ts')).storedShare),
  discard: later(async () => (await import('./unfinished-tasks.ts')).discard),
  status: later(async () => (await import('./list-tasks.ts')).status),
  setTerms: later(async () => (await import('./list-tasks.ts')).setTerms),
  setHooks: later(async () => (await import('./list-tasks.ts')).setHooks),
  exportList: later(async () => (await import('./list-tasks.ts')).exportList),
  getNotice: later(async () => (await import('./notice-task.ts')).getNotice),
  getReporting: later(async () => (await import('./notice-task.ts')).getReporting),
  report: later(async () => (await import('./report-tasks.ts')).report),
  createRequest: later(async () => (await import('./request-tasks.ts')).createRequest),
  openRequest: later(async () => (await import('./request-tasks.ts')).openRequest),
  drop: later(async () => (await import('./request-tasks.ts')).drop),
  resumeDrop: later(async () => (await import('./request-tasks.ts')).resumeDrop),
  listDrops: later(async () => (await import('./request-tasks.ts')).listDrops),
  collectDrops: later(async () => (await import('./request-tasks.ts')).collectDrops),
  deleteRequest: later(async () => (await import('./request-tasks.ts')).deleteRequest),
  importList: later(async () => (await import('./list-tasks.ts')).importList),
};

type Tasks = typeof tasks;
export type TaskName = keyof Tasks;
export type Arguments<N extends TaskName> = Parameters<Tasks[N]>[0];
export type Result<N extends TaskName> = Awaited<ReturnType<Tasks[N]>>;
