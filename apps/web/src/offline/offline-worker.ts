import { offlinePage } from './answer.ts';

// Decision page-without-network: this worker passes on what the service answers to the opening of a page, and has a page of its own for when no
// answer comes. Everything else it leaves to the browser. It keeps nothing.

/** As much of the global scope as is used: the rest of the app is checked with a page's types. */
type Scope = {
  addEventListener(name: 'install', listener: (event: InstallEvent) => void): void;
  addEventListener(name: 'activate', listener: (event: ExtendableEvent) => void): void;
  addEventListener(name: 'fetch', listener: (event: FetchEvent) => void): void;
  skipWaiting(): Promise<void>;
  registration: ServiceWorkerRegistration;
};
type ExtendableEvent = Event & { waitUntil(work: Promise<unknown> | undefined): void };
/** Not every browser has routes. */
type InstallEvent = ExtendableEvent & { addRoutes?: (rule: object) => Promise<void> };
type FetchEvent = ExtendableEvent & {
  request: Request;
  preloadResponse: Promise<Response | undefined>;
  respondWith(answer: Promise<Response>): void;
};

const scope = globalThis as unknown as Scope;

scope.addEventListener('install', (event) => {
  // What pages ask for themselves then goes past this worker without starting it. A browser that has no such condition yet asks it.
  const route = { condition: { not: { requestMode: 'navigate' } }, source: 'network' };
  event.waitUntil(event.addRoutes?.(route).catch(() => {}));
  void scope.skipWaiting();
});

// The request for a page does not wait for this worker to start. But when such a request fails, Firefox (153) shows its own page whatever this
// worker answers.
scope.addEventListener('activate', (event) => {
  if (!navigator.userAgent.includes('Firefox/')) event.waitUntil(scope.registration.navigationPreload?.enable());
});

scope.addEventListener('fetch', (event) => {
  const { mode, method } = event.request;
  if (mode === 'navigate' && method === 'GET') event.respondWith(answerTo(event));
});

async function answerTo({ request, preloadResponse }: FetchEvent): Promise<Response> {
  try {
    return (await preloadResponse) ?? (await fetch(request));
  } catch {
    return offlinePage(); // there was no answer of any status
  }
}
