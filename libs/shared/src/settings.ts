import {
  bytes,
  bytesUpTo,
  choice,
  count,
  countUpTo,
  httpUrl,
  optional,
  options,
  origins,
  port,
  positive,
  postgresUrl,
  proxies,
  redisUrl,
  type Setting,
  share,
  text,
} from './config.ts';

// Every setting of every process. A process loads the groups that it needs; the table in docs/settings.md is checked
// against this file.

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
  MAX_FILES_PER_UPLOAD: positive('32', 'most files in one upload'),
  EXPIRE_OPTIONS_SEC: options('300,3600,86400,604800', 'lifetimes that an upload may choose, in seconds'),
  DOWNLOAD_OPTIONS: options('1,2,3,4,5,10,20,50,100', 'download limits that an upload may choose'),
};

/** What uploads may take: of the disk of BLOB_DIR, and in all. Decision 76. */
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

export const noteStorageSettings = {
  NOTES_MAX_BYTES: optional(
    bytes(
      undefined,
      'most bytes of the contents of all notes together, as base64; no limit unless set (0: no limit), npm start sets a twentieth of its disk',
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
};

export const redisSettings = {
  REDIS_URL: redisUrl(undefined, 'Redis'),
  REDIS_TIMEOUT_MS: positive('100', 'milliseconds after which a request goes on without Redis'),
};

export const janitorSettings = {
  CLEANUP_INTERVAL_SEC: positive('60', 'seconds between two sweeps'),
  TOMBSTONE_TTL_SEC: count('604800', 'seconds that a removed item keeps answering 410 with its reason'),
  RECONCILE_INTERVAL_SEC: count('86400', 'seconds between two comparisons of blob store and database (0: none)'),
  RECONCILE_GRACE_SEC: positive('86400', 'age in seconds from which a blob that belongs to no upload is removed'),
};

export const portSettings = {
  gateway: { PORT: port('3000', 'port of the process') },
  files: { PORT: port('3001', 'port of the process') },
  notes: { PORT: port('3002', 'port of the process') },
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

export const corsSettings = {
  CORS_ORIGINS: optional(origins(undefined, 'pages of other origins whose scripts may use the API; none unless set')),
};

export const webSettings = {
  WEB_DIR: optional(text(undefined, 'folder of the built web app; without it there are no pages')),
};

const BASE_URL = httpUrl(undefined, 'public address, for the links in answers');

/** Decision 11: in production the public address is never guessed from a request. */
export const gatewaySettings = (isProduction: boolean) => ({
  BASE_URL: isProduction ? (BASE_URL as Setting<string | undefined>) : optional(BASE_URL),
});

export const limitSettings = {
  RATE_LIMIT_MAX: count('1200', 'requests that a client may make in a window (0: no limit)'),
  RATE_LIMIT_WINDOW_SEC: positive('60', 'length of the sliding window, in seconds'),
  UPLOAD_QUOTA_BYTES: bytes('20GiB', 'bytes that a client may upload in a UTC day (0: no limit)'),
  TOKEN_FAILURES_MAX: count(
    '20',
    'wrong tokens for one item from one client before it is locked for them (0: no limit)',
  ),
  TOKEN_FAILURES_ITEM_MAX: count(
    '1000',
    'wrong tokens for one item from all clients in a UTC day; after that only who has sent none may try (0: no limit)',
  ),
  TOKEN_FAILURES_WINDOW_SEC: positive('900', 'seconds that a wrong token counts'),
  TRUST_PROXY: proxies('0', 'proxies whose X-Forwarded-For is believed: how many, or their addresses and networks'),
};

export const fairnessSettings = {
  REQUESTS_PER_CLIENT_MAX: count('256', 'requests that a client may have under way in one gateway (0: no limit)'),
  TRANSFER_RATE_MIN: bytes('1KiB', 'least bytes per second of a body and of an answer, on average (0: no least rate)'),
  TRANSFER_RATE_WINDOW_SEC: positive('120', 'seconds that a payload or an answer may stand still at that rate'),
  BODY_RATE_WINDOW_SEC: positive('30', 'the same for all other bodies: notes, metadata, tokens'),
  TRANSFER_MAX_SEC: count('86400', 'seconds that a request may take in all (0: no limit)'),
};

export const upstreamSettings = {
  FILES_URL: httpUrl(undefined, 'address of the files service'),
  NOTES_URL: httpUrl(undefined, 'address of the notes service'),
};
