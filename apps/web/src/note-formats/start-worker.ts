import { trustedScriptUrl } from '../trusted-script-urls.ts';
import type { StartWorker } from './format-note.ts';
import workerUrl from './format-worker.ts?worker&url';

export const startWorker: StartWorker = () => new Worker(trustedScriptUrl(workerUrl), { type: 'module' });
