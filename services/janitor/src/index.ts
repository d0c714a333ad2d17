import {
  adminSettings,
  blobSettings,
  databaseSettings,
  httpSettings,
  janitorSettings,
  redisSettings,
  telemetrySettings,
} from '@mayfly/shared/settings';

export { buildJanitor } from './build-janitor.ts';
export { cleanupDeps } from './cleanup-deps.ts';
export { sweep } from './sweep.ts';

const { LOG_LEVEL } = httpSettings;
/** What the operators' commands need. */
export const adminCommandSettings = { ...janitorSettings, ...databaseSettings, ...blobSettings };
export const settings = {
  LOG_LEVEL,
  ...janitorSettings,
  ...databaseSettings,
  ...blobSettings,
  ...redisSettings,
  ...adminSettings,
  ...telemetrySettings,
};
