import {
  asMayflyError,
  type Content,
  contentOffset,
  type DownloadOptions,
  type Link,
  MayflyError,
  type Metadata,
  readEntry,
} from '@mayfly/client';
import { saveToFolder } from '../archives/save-to-folder.ts';
import type { Place } from '../saving/place.ts';
import { openSink } from '../saving/sinks.ts';
import type { FolderDownload } from './download-to-folder.ts';
import { reporting } from './reporting.ts';
import type { Task } from './task.ts';

/** What a page reads of an upload in pieces: all of it under this lease is one download. */
export type LeasedContent = {
  link: string | Link;
  lease: string;
  downloadLeases: NonNullable<DownloadOptions['downloadLeases']>;
  /** Something of it has come already: then nothing else is ever counted under this lease. */
  isContinued: boolean;
};

/** A file of it; all of it as it was sent when there is no index. */
type Wanted = LeasedContent & { index?: number };
type Found = { metadata: Metadata; stream: ReadableStream<Uint8Array<ArrayBuffer>>; sizeBytes: number };

/** By lease. One page asks, so there are as many as it has had downloads. */
const opened = new Map<string, Promise<Content>>();
/** Who is told what goes wrong on the way: all that read do so through the same content. */
const running = new Set<Task>();

/** Reads a file of an upload, or its first bytes, into memory. */
export function readFile({ mostBytes, ...wanted }: Wanted & { mostBytes: number }, task: Task): Promise<Blob> {
  return reading({ ...wanted, mostBytes }, task, async ({ stream, sizeBytes }) => {
    const reader = stream.getReader();
    const parts: Blob[] = [];
    const neededBytes = Math.min(sizeBytes, mostBytes);
    const onProgress = progressOf(task, neededBytes);
    for (let missingBytes = neededBytes; missingBytes > 0; ) {
      const { value, done } = await reader.read();
      if (done) break;
      const part = value.subarray(0, missingBytes);
      parts.push(new Blob([part]));
      missingBytes -= part.length;
      onProgress(neededBytes - missingBytes);
    }
    await reader.read(); // its end: a file that is not what it should be fails there
    return new Blob(parts);
  });
}

/** Saves a file of an upload, or all of it. What is not whole and authentic to its last byte never becomes a file. */
export async function saveFile({ place, ...wanted }: Wanted & { place: Place }, task: Task) {
  // Whatever is in the way of saving comes up before a download is spent.
  const sink = await openSink(place, task.signal);
  try {
    await reading(wanted, { ...task, signal: sink.signal }, ({ stream, sizeBytes }) =>
      stream.pipeThrough(counted(task, sizeBytes)).pipeTo(sink.writable, { preventAbort: true }),
    );
    return { file: await sink.finish() };
  } catch (error) {
    await sink.discard();
    throw error;
  }
}

/** Unpacks all of an upload. Each file that is saved is whole and authentic, also when the rest failed. */
export function unpackFiles(
  { folder, ...from }: LeasedContent & { folder: FileSystemDirectoryHandle },
  task: Task,
): Promise<FolderDownload> {
  return reading(from, task, async ({ metadata, stream, sizeBytes }) => {
    const saved: string[] = [];
    const payload = stream.pipeThrough(counted(task, sizeBytes));
    try {
      await saveToFolder(folder, { metadata, payload }, (path) => saved.push(path));
      return { saved, failure: undefined };
    } catch (error) {
      const failure = task.signal.aborted ? asMayflyError(error, task.signal) : error;
      if (!(failure instanceof MayflyError)) throw failure;
      return { saved, failure: failure.code };
    }
  });
}

async function reading<T>(
  { index, mostBytes = Number.POSITIVE_INFINITY, ...from }: Wanted & { mostBytes?: number },
  task: Task,
  use: (found: Found) => Promise<T>,
): Promise<T> {
  const { signal } = task;
  running.add(task);
  try {
    const content = await open(from, task);
    signal.throwIfAborted();
    const { metadata, size } = content;
    const sizeBytes = index === undefined ? size : (metadata.files[index]?.size ?? 0);
    const whole = piece(content, { index, sizeBytes, mostBytes });
    const stream = abortable(whole, signal) as Found['stream']; // nothing here is shared memory
    return await use({ metadata, stream, sizeBytes });
  } catch (error) {
    throw signal.aborted ? asMayflyError(error, signal) : error;
  } finally {
    running.delete(task);
  }
}

/** A file that is read to its end is checked as a whole: its checksum, and what is around it. */
function piece(
  content: Content,
  { index, sizeBytes, mostBytes }: { index: number | undefined; sizeBytes: number; mostBytes: number },
) {
  if (index === undefined) return content.read(0, sizeBytes);
  if (sizeBytes <= mostBytes) return readEntry(content, index);
  const startBytes = contentOffset(content.metadata, index);
  return content.read(startBytes, startBytes + mostBytes);
}

function open({ link, lease, ...options }: LeasedContent, { client }: Task): Promise<Content> {
  const known = opened.get(lease);
  if (known) return known;
  const onTrouble = (failure: MayflyError) => {
    for (const one of running) reporting(one, 'receiving').onTrouble(failure);
  };
  const content = client.openContent(link, { ...options, lease, onTrouble });
  opened.set(lease, content);
  content.catch(() => opened.delete(lease));
  return content;
}

/** A stream that ends with the task: nothing more of it is asked for. */
function abortable(stream: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const through = new TransformStream<Uint8Array, Uint8Array>();
  stream.pipeTo(through.writable, { signal }).catch(() => {}); // whoever reads the other end hears of it
  return through.readable;
}

function counted(task: Task, totalBytes: number) {
  const onProgress = progressOf(task, totalBytes);
  let doneBytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      doneBytes += chunk.length;
      onProgress(doneBytes);
      controller.enqueue(chunk);
    },
  });
}

function progressOf(task: Task, totalBytes: number) {
  const { onProgress } = reporting(task, 'receiving');
  return (doneBytes: number) => onProgress(doneBytes, totalBytes);
}
