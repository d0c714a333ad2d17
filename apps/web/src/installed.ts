import { activeServiceWorker, hasServiceWorkers } from './service-worker/active.ts';

/** Programs can share with the app once it is installed: its service worker, which takes that, must then be there. */
export function takeSharesWhenInstalled() {
  if (!hasServiceWorkers()) return;
  // Without it only sharing is missing.
  const start = () => void activeServiceWorker().catch(() => {});
  addEventListener('appinstalled', start);
  if (matchMedia('(display-mode: standalone)').matches) start();
}
