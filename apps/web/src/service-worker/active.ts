import { trustedScriptUrl } from '../trusted-script-urls.ts';

// Not renamed with the folder: browsers keep the scope, and installed apps share to an address below it.
const SCRIPT = '/handover/service-worker.js';
const SCOPE = '/handover/';

export function hasServiceWorkers(): boolean {
  // Firefox has none in private windows.
  return 'serviceWorker' in navigator && navigator.serviceWorker !== undefined;
}

/** The service worker of this app, started when it is needed for the first time. */
export async function activeServiceWorker(): Promise<ServiceWorker> {
  return (await startServiceWorker()).worker;
}

/** The same, with what browsers know it by. */
export async function startServiceWorker(): Promise<{
  worker: ServiceWorker;
  registration: ServiceWorkerRegistration;
}> {
  const registration = await navigator.serviceWorker.register(trustedScriptUrl(SCRIPT), {
    scope: SCOPE,
    updateViaCache: 'none',
  });
  const worker = registration.active ?? registration.waiting ?? registration.installing;
  if (!worker) throw new Error('no service worker');
  if (worker.state === 'activated') return { worker, registration };
  await new Promise<void>((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve();
      if (worker.state === 'redundant') reject(new Error('no service worker'));
    });
  });
  return { worker, registration };
}
