import {
  asMayflyError,
  type Created,
  type DownloadLeases,
  MayflyClient,
  type UnfinishedUpload,
  uploadSize,
} from '@mayfly/client';
import { checkRoom, type Drop, FileRequests, type NewRequest, type OpenedRequest } from '@mayfly/client/requests';
import type { Place } from '../saving/place.ts';
import { openSink } from '../saving/sinks.ts';
import { reporting } from './reporting.ts';
import type { Task } from './task.ts';
import { resume } from './unfinished-tasks.ts';
import { type ChosenFile, sourceOf, type UploadArguments, upload } from './upload.ts';

/** The library's part for file requests. */
export const requestsOf = ({ options }: Task) => new FileRequests(options);

export function createRequest(request: Omit<NewRequest, 'signal'>, task: Task) {
  return requestsOf(task).create({ ...request, signal: task.signal });
}

/** What is asked for. Throws `tampered` when its key is not the one of the link. */
export function openRequest({ link }: { link: string }, task: Task): Promise<OpenedRequest> {
  return requestsOf(task).open(link, { signal: task.signal });
}

type DropArguments = Omit<UploadArguments, 'password' | 'sealedMetadata' | 'isAnnounced' | 'request'> & {
  link: string;
};

/** Sends files to whoever asked for them. Looks at the key and at the room once more before. */
export async function drop({ link, ...options }: DropArguments, task: Task): Promise<Created> {
  const opened = await openRequest({ link }, task);
  const { files, uploadParts } = options;
  const sources = files.map((chosen) => sourceOf(chosen));
  checkRoom(opened, uploadSize(sources, { uploadParts }));
  const plain = { password: undefined, sealedMetadata: undefined, isAnnounced: false };
  const transport = await requestsOf(task).transportFor(opened, { signal: task.signal });
  const client = new MayflyClient({ ...task.options, transport });
  return deliver(opened, await upload({ ...options, ...plain, request: link }, { ...task, client }), task);
}

type ResumeArguments = { link: string; upload: UnfinishedUpload; files: ChosenFile[] };

/** Goes on with that. */
export async function resumeDrop({ link, ...unfinished }: ResumeArguments, task: Task): Promise<Created> {
  const opened = await openRequest({ link }, task);
  return deliver(opened, await resume({ ...unfinished, isAnnounced: false }, task), task);
}

/** Nobody waits longer to take something back. */
const REMOVE_MS = 5_000;

async function deliver(opened: OpenedRequest, created: Created, task: Task): Promise<Created> {
  const { client, signal } = task;
  try {
    await requestsOf(task).drop(opened, created, { ...reporting(task, 'sending'), signal });
    return created;
  } catch (error) {
    // Nobody would ever find it: it is deleted, or ends by itself.
    await client.remove(created, created.ownerSecret, { signal: AbortSignal.timeout(REMOVE_MS) }).catch(() => {});
    await import('../unfinished/unfinished-list.ts')
      .then(({ forgetUnfinished }) => forgetUnfinished(created.id))
      .catch(() => {}); // it is offered, and is over
    throw error;
  }
}

export function listDrops({ link }: { link: string }, task: Task) {
  return requestsOf(task).list(link, { signal: task.signal });
}

type CollectArguments = { drops: Drop[]; place: Place; downloadLeases: DownloadLeases | undefined };

/** Saves what is in these drops as one archive, as `download` saves an upload; `leftOut` of them have nothing to be had. */
export async function collectDrops({ drops, place, downloadLeases }: CollectArguments, task: Task) {
  const sink = await openSink(place, task.signal);
  try {
    const options = { ...reporting(task, 'receiving'), signal: sink.signal, downloadLeases };
    const { stream, leftOut } = await requestsOf(task).archive(drops, options);
    await stream.pipeTo(sink.writable, { preventAbort: true, signal: sink.signal });
    return { file: await sink.finish(), leftOut: leftOut.length };
  } catch (error) {
    await sink.discard();
    throw asMayflyError(error, sink.signal);
  }
}

export function deleteRequest({ link }: { link: string }, task: Task) {
  return requestsOf(task).remove(link, { signal: task.signal });
}
