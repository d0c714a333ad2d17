import { MayflyError } from '@mayfly/client';
import type { FromDownload, ToDownload } from '../service-worker/messages.ts';
import { batches } from './batches.ts';
import type { Place } from './place.ts';
import type { Sink } from './sink.ts';
import { openStorageSink, type StoredPart } from './storage-sink.ts';

/** `part` is the file in the browser's storage, if it comes to that: one that can be continued. */
export function openSink(place: Place, signal: AbortSignal, part?: StoredPart): Promise<Sink> {
  if (place.kind === 'picked') return openPickedSink(place.handle, signal);
  if (place.kind === 'service-worker') return openServiceWorkerSink(place.port, signal);
  return openStorageSink(signal, part);
}

async function openPickedSink(handle: FileSystemFileHandle, signal: AbortSignal): Promise<Sink> {
  // The browser writes beside the file, which changes only with close().
  const stream = await handle.createWritable();
  return {
    writable: batches((bytes) => stream.write(bytes)),
    signal,
    async finish() {
      await stream.close();
      return undefined;
    },
    async discard() {
      await stream.abort();
      // The picker has made an empty file. Not every browser can take it back.
      await (handle as { remove?: () => Promise<void> }).remove?.().catch(() => {});
    },
  };
}

async function openServiceWorkerSink(port: MessagePort, signal: AbortSignal): Promise<Sink> {
  const stopped = new AbortController();
  let wanted = 1; // the first piece was asked for before the port came here
  let wake = () => {};
  const empty: ArrayBuffer[] = [];
  port.onmessage = ({ data }: MessageEvent<FromDownload>) => {
    if (typeof data === 'object') empty.push(data.empty);
    if (data === 'pull') wanted += 1;
    if (data === 'cancelled') stopped.abort();
    wake();
  };
  const say = (message: ToDownload, objects: Transferable[] = []) => port.postMessage(message, objects);
  const write = async (bytes: Uint8Array<ArrayBuffer>) => {
    while (wanted === 0 && !stopped.signal.aborted) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (stopped.signal.aborted) throw new MayflyError('aborted');
    wanted -= 1;
    say({ chunk: bytes }, [bytes.buffer]);
  };
  return {
    writable: batches(write, empty),
    signal: AbortSignal.any([signal, stopped.signal]),
    async finish() {
      say('end');
      return undefined;
    },
    async discard() {
      say('failed');
    },
  };
}
