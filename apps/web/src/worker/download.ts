import type { Place } from '../saving/place.ts';
import { openSink } from '../saving/sinks.ts';
import { LeasedDownload, type Leasing } from './leased-download.ts';
import type { Task } from './task.ts';

export type DownloadArguments = Leasing & { place: Place };

/**
 * Fetches, decrypts and saves, a few segments at a time. What is not whole and authentic to its last byte never becomes a file.
 * Returns a file for the page to hand out when the place is the browser's own storage.
 */
export async function download(
  { place, ...leasing }: DownloadArguments,
  task: Task,
): Promise<{ file: File | Blob | undefined }> {
  const leased = await LeasedDownload.begin(leasing, task);
  let sink: Awaited<ReturnType<typeof openSink>> | undefined;
  try {
    // Whatever is in the way of saving comes up before a download is spent.
    sink = await openSink(place, task.signal, leased.part);
    const { payload } = await task.client.download(leasing.link, leased.options(sink));
    await leased.hasBegun();
    await payload.pipeTo(sink.writable, { preventAbort: true });
    leased.stopSaving();
    const file = await sink.finish();
    await leased.finish();
    return { file };
  } catch (error) {
    await leased.fail(error, sink);
    throw error;
  }
}
