import type { Link } from '@mayfly/client';
import type { Place } from '../saving/place.ts';
import { openSink } from '../saving/sinks.ts';
import type { Task } from './task.ts';
import { throttled } from './throttle.ts';

export type DownloadArguments = { link: string | Link; place: Place };

/**
 * Fetches, decrypts and saves, a few segments at a time. What is not whole and authentic to its last byte is taken back:
 * it never becomes a file. Returns a file for the page to hand out when the place is the browser's own storage.
 */
export async function download(
  { link, place }: DownloadArguments,
  { client, signal, report }: Task,
): Promise<{ file: File | Blob | undefined }> {
  // Whatever is in the way of saving comes up before a download is spent.
  const sink = await openSink(place, signal);
  try {
    const onProgress = throttled((doneBytes, totalBytes) =>
      report({ kind: 'progress', phase: 'receiving', doneBytes, totalBytes }),
    );
    const { payload } = await client.download(link, { onProgress, signal: sink.signal });
    await payload.pipeTo(sink.writable, { preventAbort: true });
    return { file: await sink.finish() };
  } catch (error) {
    await sink.discard();
    throw error;
  }
}
