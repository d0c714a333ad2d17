import {
  bytes,
  bytesUpTo,
  choice,
  count,
  countUpTo,
  httpUrl,
  optional,
  options,
  port,
  positive,
  postgresUrl,
  redisUrl,
  share,
  text,
} from './config.ts';
import { base64urlBytes, hosts } from './notice-values.ts';
import { s3IdentitySettings } from './s3-identity-settings.ts';

// The settings that several processes read, in groups; what one alone reads is in its service. The table in
// docs/settings.md is checked against all of them.

export const httpSettings = {
  HOST: text('0.0.0.0', 'address that the process listens on'),
  LOG_LEVEL: choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'least level that is logged',
  ),
};

export const bodySettings = {
  BODY_BUFFER_BYTES: bytes(
    '64MiB',
    'bytes of JSON bodies that a process collects at a time; one client gets a quarter',
  ),
};

export const uploadSettings = {
  MAX_FILE_SIZE: bytes('2049MiB', 'largest upload (encrypted payload)'),
  MAX_FILES_PER_UPLOAD: positive('32', 'most files that an upload is counted as; an archive of more is counted as one'),
  EXPIRE_OPTIONS_SEC: options('300,3600,86400,604800', 'lifetimes that an upload may choose, in seconds'),
  DOWNLOAD_OPTIONS: options('1,2,3,4,5,10,20,50,100', 'download limits that an upload may choose'),
  DOWNLOAD_LEASE_SEC: count('3600', 'seconds for which a download that was cut can be continued (0: never)'),
  UPLOAD_SESSION_SEC: count('86400', 'seconds in which an upload that comes in parts must be complete (0: no parts)'),
  UPLOAD_PARTS_MAX: positive('1000', 'most parts of one upload; S3 stores take 1000, most of them 10000'),
  UPLOAD_PART_BYTES_MIN: bytes('5MiB', 'least length of every part but the last; S3 stores want 5MiB'),
  MAX_PARTED_SIZE: optional(bytes(undefined, 'largest upload that comes in parts; MAX_FILE_SIZE unless set')),
};

/** What may be asked for by a link to receive with. Contract 15. */
export const requestSettings = {
  REQUESTS: choice(['yes', 'no'], 'yes', 'whether files can be asked for by a link to send them to'),
  REQUEST_EXPIRE_OPTIONS_SEC: options('3600,86400,604800,2592000', 'lifetimes that a request may choose, in seconds'),
  REQUEST_DROP_OPTIONS: options('1,5,10,50,100', 'numbers of uploads that a request may choose to take'),
  REQUEST_MAX_BYTES: bytes('20GiB', 'most bytes of all uploads of a request together, as they are stored'),
  REQUESTS_STORAGE_MAX_BYTES: optional(
    bytes(
      undefined,
      'most bytes that all requests together may hold in PostgreSQL: some 2 to 8 KB each, and 2 KiB for each upload that they take; no limit unless set (0: no limit), npm start sets a hundredth of its disk',
    ),
  ),
};

/** Whether recipients can tell the operator of what they were sent. Contract 17. */
export const reportSettings = {
  REPORTS: choice(
    ['off', 'on'],
    'off',
    'whether recipients can report what they were sent, and are told when it was blocked',
  ),
  REPORT_PUBLIC_KEY: optional(
    base64urlBytes(1216)(
      undefined,
      'public key that links are disclosed to, from `npm run admin -- keygen`; none can be disclosed unless set',
    ),
  ),
};

/** Whether everybody may create. Contract 16. */
export const guardSettings = {
  CREATE_GUARD: choice(
    ['open', 'key', 'header', 'oidc'],
    'open',
    'who may create uploads, notes and requests: everybody, who has a key, whom a proxy names, or who signs in',
  ),
};

/** What uploads may take: of the disk of BLOB_DIR, and in all. Decision exact-ceilings. */
export const storageSettings = {
  STORAGE_MIN_FREE_BYTES: optional(
    bytes(
      undefined,
      'space that uploads leave free on the disk of BLOB_DIR; a tenth of it, at most 1GiB, unless set (0: none)',
    ),
  ),
  STORAGE_MAX_BYTES: optional(
    bytes(
      undefined,
      'most bytes of all uploads together; the size of the disk less the above, and with S3 no limit, unless set (0: no limit)',
    ),
  ),
};

export const noteSettings = {
  NOTE_MAX_SIZE: bytesUpTo('16MiB')('1MiB', 'largest note (256 bytes more are allowed for the encryption)'),
  NOTE_EXPIRE_OPTIONS_SEC: options('300,3600,86400,604800', 'lifetimes that a note may choose, in seconds'),
  NOTE_VIEW_OPTIONS: options('1,2,3,5,10,20,50,100', 'view limits that a note may choose'),
  VIEW_REPEAT_SEC: countUpTo(3600)(
    '120',
    'seconds for which a client can repeat a view under its Idempotency-Key; the last one keeps its content so long (0: never)',
  ),
};

/** Whom owners may have told of uses. Contract 14. The private half of the key is the janitor's. */
export const noticeSettings = {
  WEBHOOK_HOSTS: optional(
    hosts(undefined, 'hosts that owners may have called when something of theirs is used; none unless set'),
  ),
  PUSH_PUBLIC_KEY: optional(
    base64urlBytes(65)(
      undefined,
      'public key that browsers know this service by (VAPID), from `npm run admin -- push-keys`; no Web Push unless set',
    ),
  ),
  PUSH_HOSTS: hosts(
    'fcm.googleapis.com,updates.push.services.mozilla.com,web.push.apple.com,*.notify.windows.com',
    'push services that browsers may be reached by',
  ),
};

/** What owners see and change of their uploads and notes. Contract 12. */
export const ownerSettings = {
  OWNER_CONTROL: choice(
    ['yes', 'no'],
    'yes',
    'whether owners see the state of their uploads and notes, and change their terms',
  ),
  USE_TIMES: choice(
    ['minutes', 'none'],
    'minutes',
    'whether the times of downloads and views are kept for the owner, to the minute',
  ),
  MAX_LIFETIME_SEC: optional(
    positive(
      undefined,
      'longest life of an upload or a note that its owner prolongs, in seconds; the longest that may be chosen unless set',
    ),
  ),
  ...noticeSettings,
};

export const databaseSettings = {
  DATABASE_URL: postgresUrl(undefined, 'PostgreSQL'),
  DATABASE_POOL_SIZE: positive('10', 'most PostgreSQL connections of one process'),
  DATABASE_PREPARED_STATEMENTS: choice(
    ['auto', 'yes', 'no'],
    'auto',
    'whether statements are prepared once per connection (auto: unless a pooler such as PgBouncer stands between)',
  ),
};

export const blobSettings = {
  BLOB_DIR: optional(text(undefined, 'folder that holds the encrypted uploads, unless S3_ENDPOINT is set')),
  S3_ENDPOINT: optional(httpUrl(undefined, 'S3 store that holds the encrypted uploads')),
  S3_REGION: text('us-east-1', 'region that S3 requests are signed for'),
  S3_BUCKET: text(
    'mayfly',
    'private bucket for the encrypted uploads; made when it is missing and the database is empty',
  ),
  S3_PATH_STYLE: choice(['true', 'false'], 'true', 'whether the bucket is in the path (true) or in the host name'),
  S3_ACCESS_KEY: optional(text(undefined, 'key of the S3 store')),
  S3_SECRET_KEY: optional(text(undefined, 'secret of that key')),
  ...s3IdentitySettings,
};

export const redisSettings = {
  REDIS_URL: redisUrl(undefined, 'Redis'),
  REDIS_TIMEOUT_MS: positive('100', 'milliseconds after which a request goes on without Redis'),
};

export const adminSettings = {
  ADMIN_PORT: optional(port(undefined, 'port for health and readiness, apart from the public one; none unless set')),
  ADMIN_HOST: text('127.0.0.1', 'address that the admin port listens on; never a public one'),
};

/** The standard names; OpenTelemetry's SDK reads the other OTEL_ variables by itself. */
export const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    httpUrl(undefined, 'collector that traces and metrics are sent to (OTLP); nothing is sent unless set'),
  ),
  OTEL_TRACES_SAMPLER_ARG: share('0.05', 'share of requests that are traced'),
  OTEL_SDK_DISABLED: choice(['true', 'false'], 'false', 'whether metrics and traces are off altogether'),
};

export const drainSettings = {
  DRAIN_MS: count('0', 'milliseconds that a process asked to stop goes on serving while it says that it is not ready'),
  DRAIN_GRACE_MS: count('30000', 'milliseconds that running requests then have to finish'),
};
