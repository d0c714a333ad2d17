export { buildJanitor } from './build-janitor.ts';
export { cleanupDeps } from './cleanup-deps.ts';
export { settings } from './settings.ts';
export { sweep } from './sweep.ts';
