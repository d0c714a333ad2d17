import {
  bytes,
  choice,
  count,
  hashesWithBytes,
  headerName,
  httpUrl,
  optional,
  origins,
  parseUrl,
  port,
  positive,
  proxies,
  type Setting,
  setting,
  text,
  texts,
} from '@mayfly/shared/config';
import {
  adminSettings,
  bodySettings,
  drainSettings,
  guardSettings,
  httpSettings,
  noteSettings,
  ownerSettings,
  redisSettings,
  reportSettings,
  requestSettings,
  telemetrySettings,
  uploadSettings,
} from '@mayfly/shared/settings';
import { brandSettings } from './brand.ts';
import { integritySettings } from './page-integrity.ts';
import { securitySettings } from './security-txt.ts';

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
  REPORTS_PER_CLIENT_MAX: count('20', 'reports that a client may send in an hour (0: no limit)'),
  UPLOAD_SESSIONS_MAX: count('20', 'uploads in parts that a client may have open (0: no limit)'),
  TRANSFER_RATE_MIN: bytes('1KiB', 'least bytes per second of a body and of an answer, on average (0: no least rate)'),
  TRANSFER_RATE_WINDOW_SEC: positive('120', 'seconds that a payload or an answer may stand still at that rate'),
  BODY_RATE_WINDOW_SEC: positive('30', 'the same for all other bodies: notes, metadata, tokens'),
  TRANSFER_MAX_SEC: count('86400', 'seconds that a request may take in all (0: no limit)'),
};

/** Contract 13. What was sealed is unlocked in any case. */
export const sealSettings = {
  SEALED_METADATA: choice(
    ['yes', 'no'],
    'yes',
    'whether clients are told that they can seal the names of uploads with a password',
  ),
};

/** Decisions keys-to-create and headers-of-proxies. */
export const keySettings = {
  CREATE_KEYS: optional(
    hashesWithBytes(
      undefined,
      'the keys that may create while CREATE_GUARD=key, each by its hash, with CREATE_QUOTA_BYTES of its own if given',
    ),
  ),
  CREATE_QUOTA_BYTES: bytes(
    '0',
    'bytes that each key may upload in a UTC day, or whoever the proxy names, from all addresses together (0: no limit)',
  ),
  CREATE_HEADER: optional(
    headerName(
      undefined,
      'what a proxy sets on requests that may create while CREATE_GUARD=header; TRUST_PROXY has its address',
    ),
  ),
  CREATE_HEADER_VALUES: optional(texts(undefined, 'values of that header which may create; any unless set')),
};

/** Contract 18. */
export const workSettings = {
  WORK: choice(['off', 'adaptive'], 'off', 'whether a client over its request limit can work for more requests'),
  WORK_EXTRA: positive('100', 'requests that a solution is worth while WORK=adaptive'),
};

/** Codes and secrets go there. */
const issuer = setting('an https:// address, or one of this machine', (value) => {
  const isHere = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$)/.test(value);
  return parseUrl(value, isHere ? ['http:'] : ['https:']);
});

/** Decision sign-in-without-cookies. */
export const signInSettings = {
  OIDC_ISSUER: optional(issuer(undefined, 'OpenID Connect provider at which people sign in while CREATE_GUARD=oidc')),
  OIDC_CLIENT_ID: optional(text(undefined, 'what the service is called there; it comes back to BASE_URL/signin')),
  OIDC_CLIENT_SECRET: optional(text(undefined, 'its secret there; a public client has none')),
  OIDC_SCOPE: text('openid', 'scopes that are asked for, separated by spaces'),
  OIDC_CLAIM: optional(
    text(undefined, 'claim that tells who may create; everybody who has an account there unless set'),
  ),
  OIDC_CLAIM_VALUES: optional(
    texts(undefined, 'values of that claim which may create; `@example.org` stands for all addresses there'),
  ),
  OIDC_SESSION_SEC: positive('3600', 'seconds for which somebody who has signed in can create'),
};

const BASE_URL = httpUrl(undefined, 'public address, for the links in answers');

/** Decision base-url-header: in production the public address is never guessed from a request. */
export const settings = ({ NODE_ENV }: NodeJS.ProcessEnv) => ({
  ...httpSettings,
  PORT: port('3000', 'port of the process'),
  BASE_URL: NODE_ENV === 'production' ? (BASE_URL as Setting<string | undefined>) : optional(BASE_URL),
  ...uploadSettings,
  ...noteSettings,
  ...ownerSettings,
  ...requestSettings,
  ...reportSettings,
  ...sealSettings,
  ...guardSettings,
  ...keySettings,
  ...signInSettings,
  ...redisSettings,
  ...adminSettings,
  ...telemetrySettings,
  ...drainSettings,
  CORS_ORIGINS: optional(origins(undefined, 'pages of other origins whose scripts may use the API; none unless set')),
  WEB_DIR: optional(text(undefined, 'folder of the built web app; without it there are no pages')),
  ...integritySettings,
  ...brandSettings,
  ...securitySettings,
  ...limitSettings,
  ...workSettings,
  ...fairnessSettings,
  ...bodySettings,
});

/** What the gateway needs besides when its services are on the network. */
export const splitSettings = (env: NodeJS.ProcessEnv) => ({
  ...settings(env),
  FILES_URL: httpUrl(undefined, 'address of the files service'),
  NOTES_URL: httpUrl(undefined, 'address of the notes service'),
});
