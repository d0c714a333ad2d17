import type { FromDownload, ToDownload, ToServiceWorker } from './messages.ts';
import { showNotice } from './show-notice.ts';

// Works below /handover/ only, so it controls no page and sees no request of one. It does three things that a page cannot:
// it turns a stream into a download (GET /handover/file/<token>), takes files that other programs share with the
// installed app (POST /handover/share), and shows notices of use when no page is open. It stores nothing.

/** As much of the global scope as is used: the rest of the app is checked with a page's types. */
type Scope = {
  addEventListener(name: 'install' | 'activate', listener: (event: ExtendableEvent) => void): void;
  addEventListener(name: 'message', listener: (event: MessageEvent<ToServiceWorker> & ExtendableEvent) => void): void;
  addEventListener(name: 'fetch', listener: (event: FetchEvent) => void): void;
  addEventListener(name: 'push', listener: (event: PushEvent) => void): void;
  addEventListener(name: 'notificationclick', listener: (event: NotificationEvent) => void): void;
  skipWaiting(): Promise<void>;
  registration: Parameters<typeof showNotice>[0];
  clients: { openWindow(url: string): Promise<unknown> };
};
type PushEvent = ExtendableEvent & { data: { text(): string } | null };
type NotificationEvent = ExtendableEvent & { notification: { close(): void } };
type ExtendableEvent = Event & { waitUntil(work: Promise<unknown>): void };
type FetchEvent = ExtendableEvent & { request: Request; respondWith(answer: Response | Promise<Response>): void };

const scope = globalThis as unknown as Scope;
const SCOPE = '/handover/';
/** From its own last page's word on. */
const STAY_MS = 20_000;
const SHARE_WAIT_MS = 60_000;

type Offer = { name: string; size: number; port: MessagePort };
const offers = new Map<string, Offer>();
const shared = new Map<string, File[]>();

scope.addEventListener('install', () => void scope.skipWaiting());

scope.addEventListener('message', (event) => {
  const { data, ports } = event;
  const [port] = ports;
  event.waitUntil(new Promise((resolve) => setTimeout(resolve, STAY_MS)));
  if (data === 'stay' || !port) return;
  if ('offer' in data) {
    offers.set(data.offer, { name: data.name, size: data.size, port });
    port.postMessage('offered' satisfies FromDownload);
  } else {
    port.postMessage(shared.get(data.collect) ?? []);
    shared.delete(data.collect);
  }
});

scope.addEventListener('fetch', (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (origin !== location.origin || !pathname.startsWith(SCOPE)) return;
  const [what, token = ''] = pathname.slice(SCOPE.length).split('/');
  const offer = offers.get(token);
  if (what === 'file' && offer) {
    offers.delete(token);
    event.respondWith(downloadOf(offer));
  }
  if (what === 'share' && event.request.method === 'POST') event.respondWith(takeShared(event));
});

scope.addEventListener('push', (event) => event.waitUntil(showNotice(scope.registration, event.data?.text() ?? '')));

scope.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(scope.clients.openWindow('/uploads'));
});

const CHUNKS_WAITING = 2;

/** A download whose bytes come through a port, as many as the browser asks for. */
function downloadOf({ name, size, port }: Offer): Response {
  const say = (message: FromDownload, objects: Transferable[] = []) => port.postMessage(message, objects);
  const given: ArrayBuffer[] = [];
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        port.onmessage = ({ data }: MessageEvent<ToDownload>) => {
          if (data === 'end') controller.close();
          // The browser marks the download as failed and keeps no file.
          else if (data === 'failed') controller.error(new Error('not whole'));
          else {
            controller.enqueue(data.chunk);
            given.push(data.chunk.buffer);
          }
        };
      },
      pull() {
        say('pull');
        // More are taken than wait here and are being read.
        const empty = given.length > CHUNKS_WAITING + 1 ? given.shift() : undefined;
        if (empty) say({ empty }, [empty]);
      },
      cancel: () => say('cancelled'),
    },
    { highWaterMark: CHUNKS_WAITING },
  );
  const headers = new Headers({
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeRfc5987(name)}`,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
  });
  // Some browsers count in 32 bits here. Without it, only the bar in the browser's own list has no end.
  if (size < 2 ** 31) headers.set('Content-Length', String(size));
  return new Response(body, { headers });
}

function encodeRfc5987(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

/** Keeps what was shared until the page, which opens now, asks for it. */
async function takeShared(event: FetchEvent): Promise<Response> {
  const form = await event.request.formData();
  const files = form.getAll('files').filter((entry) => entry instanceof File);
  const text = ['title', 'text', 'url']
    .map((name) => form.get(name))
    .filter((entry) => typeof entry === 'string' && entry !== '')
    .join('\n');
  const token = crypto.randomUUID();
  shared.set(token, files.length > 0 || text === '' ? files : [new File([text], 'shared.txt', { type: 'text/plain' })]);
  event.waitUntil(
    new Promise<void>((resolve) =>
      setTimeout(() => {
        shared.delete(token);
        resolve();
      }, SHARE_WAIT_MS),
    ),
  );
  return Response.redirect(`/?shared=${token}`, 303);
}
