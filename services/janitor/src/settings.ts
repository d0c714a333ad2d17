import { count, httpUrl, optional, positive } from '@mayfly/shared/config';
import { base64urlBytes, contact, networks } from '@mayfly/shared/notice-values';
import {
  adminSettings,
  blobSettings,
  databaseSettings,
  httpSettings,
  noticeSettings,
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
/** What telling of uses takes. Contract 13. */
export const noticeSenderSettings = {
  ...noticeSettings,
  PUSH_PRIVATE_KEY: optional(base64urlBytes(32)(undefined, 'private key that belongs to PUSH_PUBLIC_KEY')),
  PUSH_CONTACT: optional(
    contact(undefined, 'whom push services write to when something is wrong; required with Web Push'),
  ),
  NOTICE_NETWORKS: optional(
    networks(undefined, 'addresses and networks that notices may go to besides those of the public internet'),
  ),
};
/** What the operators' commands need. */
export const adminCommandSettings = {
  ...janitorSettings,
  ...databaseSettings,
  ...blobSettings,
  BASE_URL: optional(httpUrl(undefined, 'public address, for the links that reports disclose')),
  /** No process of the service has it. */
  REPORT_PRIVATE_KEY: optional(base64urlBytes(32)(undefined, 'private key that belongs to REPORT_PUBLIC_KEY')),
};
export const settings = {
  LOG_LEVEL,
  ...janitorSettings,
  ...noticeSenderSettings,
  ...databaseSettings,
  ...blobSettings,
  ...redisSettings,
  ...adminSettings,
  ...telemetrySettings,
};
