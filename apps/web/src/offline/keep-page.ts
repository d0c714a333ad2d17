import { hasServiceWorkers } from '../service-worker/active.ts';
import { trustedScriptUrl } from '../trusted-script-urls.ts';

const SCRIPT = '/offline.js';
/** Of the workers that do what takes long: their requests go past the other one. */
const IDLE = { script: '/idle.js', scope: '/assets/' };
/** After the page has loaded: a slow phone has more urgent things to do first. */
const WAIT_MS = 2_000;

/** Has this browser show a page of ours the next time that the service cannot be reached. Nothing waits for it. */
export function keepOfflinePage() {
  if (!hasServiceWorkers()) return;
  // Without it, the browser shows its own page.
  const registerLater = () => setTimeout(() => void register().catch(() => {}), WAIT_MS);
  if (document.readyState === 'complete') registerLater();
  else addEventListener('load', registerLater, { once: true });
}

async function register() {
  const options = { updateViaCache: 'none' } as const;
  // First: a worker that is started between the two would belong to the other one.
  await navigator.serviceWorker.register(trustedScriptUrl(IDLE.script), { ...options, scope: IDLE.scope });
  await navigator.serviceWorker.register(trustedScriptUrl(SCRIPT), options);
}
