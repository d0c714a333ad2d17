import { activeServiceWorker } from '../service-worker/active.ts';
import type { FromDownload, ToServiceWorker } from '../service-worker/messages.ts';

/** A service worker that does not begin within this time is taken for one that never will. */
const PATIENCE_MS = 8_000;
/** Some browsers cut a download whose frame goes too soon. */
const FRAME_STAYS_MS = 20_000;
const STAY_EVERY_MS = 8_000;

/** A download that the browser has begun and that waits for bytes from the port. */
export type BegunDownload = { port: MessagePort; release: () => void };

/** Begins a download in the browser's own list. Undefined when this browser does not play along. */
export async function beginDownload(file: { name: string; size: number }): Promise<BegunDownload | undefined> {
  try {
    return await within(PATIENCE_MS, begin(file));
  } catch {
    return undefined; // service workers are switched off, or blocked by an extension; there are other ways
  }
}

async function begin({ name, size }: { name: string; size: number }): Promise<BegunDownload> {
  const worker = await activeServiceWorker();
  const say = (message: ToServiceWorker, ports: MessagePort[] = []) => worker.postMessage(message, ports);
  const token = crypto.randomUUID();
  const { port1, port2 } = new MessageChannel();
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.title = name;
  const begun = new Promise<void>((resolve) => {
    port1.onmessage = ({ data }: MessageEvent<FromDownload>) => {
      if (data === 'offered') {
        frame.src = `/handover/file/${token}`;
        document.body.append(frame);
      }
      if (data === 'pull') resolve();
    };
  });
  say({ offer: token, name, size }, [port2]);
  await begun;
  port1.onmessage = null;
  const timer = setInterval(() => say('stay'), STAY_EVERY_MS);
  const release = () => {
    clearInterval(timer);
    setTimeout(() => frame.remove(), FRAME_STAYS_MS);
  };
  return { port: port1, release };
}

function within<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  const tooLate = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), patienceMs));
  return Promise.race([work, tooLate]);
}
