import { activeServiceWorker, hasServiceWorkers } from '../service-worker/active.ts';
import type { ToServiceWorker } from '../service-worker/messages.ts';
import type { ChosenFile } from '../worker/upload.ts';
import { fromInput } from './chosen-files.ts';

/** Files that another program has shared with the installed app: the service worker has opened this page for them. */
export async function takeShared(): Promise<ChosenFile[]> {
  const token = new URLSearchParams(location.search).get('shared');
  if (!token || !hasServiceWorkers()) return [];
  history.replaceState(null, '', '/'); // a reload has nothing to take
  const worker = await activeServiceWorker();
  const { port1, port2 } = new MessageChannel();
  const files = new Promise<File[]>((resolve) => {
    port1.onmessage = ({ data }: MessageEvent<File[]>) => resolve(data);
  });
  worker.postMessage({ collect: token } satisfies ToServiceWorker, [port2]);
  return fromInput(await files);
}
