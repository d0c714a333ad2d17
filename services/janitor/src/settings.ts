import { count, positive } from '@mayfly/shared/config';
import {
  adminSettings,
  blobSettings,
  databaseSettings,
  httpSettings,
  redisSettings,
  telemetrySettings,
} from '@mayfly/shared/settings';

const { LOG_LEVEL } = httpSettings;
export const janitorSettings = {
  CLEANUP_INTERVAL_SEC: positive('60', 'seconds between two sweeps'),
  TOMBSTONE_TTL_SEC: count('604800', 'seconds that a removed item keeps answering 410 with its reason'),
  RECONCILE_INTERVAL_SEC: count('86400', 'seconds between two comparisons of blob store and database (0: none)'),
  RECONCILE_GRACE_SEC: positive('86400', 'age in seconds from which a blob that belongs to no upload is removed'),
};
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
