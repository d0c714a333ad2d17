import { hasServiceWorkers } from '../service-worker/active.ts';
import { trustedScriptUrl } from '../trusted-script-urls.ts';

const SCRIPT = '/offline.js';
/** After the page has loaded: a slow phone has more urgent things to do first. */
const WAIT_MS = 2_000;

/** Has this browser show a page of ours the next time that the service cannot be reached. Nothing waits for it. */
export function keepOfflinePage() {
  if (!hasServiceWorkers()) return;
  // Without it, the browser shows its own page.
  const register = () =>
    void navigator.serviceWorker.register(trustedScriptUrl(SCRIPT), { updateViaCache: 'none' }).catch(() => {});
  const registerLater = () => setTimeout(register, WAIT_MS);
  if (document.readyState === 'complete') registerLater();
  else addEventListener('load', registerLater, { once: true });
}
