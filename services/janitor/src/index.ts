import {
  adminSettings,
  blobSettings,
  databaseSettings,
  httpSettings,
  janitorSettings,
  redisSettings,
} from '@mayfly/shared/settings';

export { startJanitor } from './janitor.ts';
export { openSweep } from './open-sweep.ts';

const { LOG_LEVEL } = httpSettings;
export const settings = {
  LOG_LEVEL,
  ...janitorSettings,
  ...databaseSettings,
  ...blobSettings,
  ...redisSettings,
  ...adminSettings,
};
