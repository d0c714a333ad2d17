import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '@mayfly/shared/config';
import { noticeKinds } from '@mayfly/shared/owner-notices';
import { partLimits } from '@mayfly/shared/part-limits';
import type { ownerSettings, reportSettings, requestSettings, uploadSettings } from '@mayfly/shared/settings';

const KIB = 1024;
/** A token of 512 characters and what is around it. */
const TOKEN_BODY_BYTES = 4 * KIB;
/** A public key, and a greeting of 4 KiB; a report with 2 KiB of text, written as escapes. */
const REQUEST_BODY_BYTES = 16 * KIB;
const META_BODY_BYTES = 256 * KIB;
/** Everything in a note but its content, which is as long as the encryption makes it, and base64. */
const OTHER_NOTE_BYTES = 16 * KIB;
const ENCRYPTION_BYTES = 256;

export type Service = 'files' | 'notes';
export type BodyLimits = Config<typeof uploadSettings & typeof ownerSettings & typeof requestSettings> &
  Partial<Config<typeof reportSettings>> & { NOTE_MAX_SIZE: number };
/** An address of the API, and all that the gateway has to know about it. */
export type Endpoint = {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
};

/** What an endpoint takes besides a token. It counts against the client's quota. Decision daily-quota. */
type Body = {
  /** What is larger is refused here, whatever the service is set to. Decision gateway-refuses-large-bodies. */
  largestBytes: (limits: BodyLimits) => number;
  /** How that is said, unless in the words of the status. Contract: Errors, 413. */
  tooLarge?: string;
  /** It was charged when its session began. Decision uploads-in-parts. */
  isPrepaid?: true;
};

/** An endpoint that a service answers. */
export type Route = Endpoint & {
  service: Service;
  /** Without it there is room for a token, which is not charged. */
  body?: Body;
  /** It checks a token of the item, so that wrong ones are counted. Decision guesses-count-at-start. */
  isGuarded?: true;
  /** Which side streams a payload: it may take hours. Everything else is small and has little time. */
  payload?: 'request' | 'answer';
  /** Bytes that are to come later, as its headers say. They are charged now, and what does not come is given back. Decision uploads-in-parts. */
  announcedBytes?: (headers: IncomingHttpHeaders, limits: BodyLimits) => number;
  /** There only while uploads may come in parts. */
  isOfParts?: true;
  /** There only while downloads can be continued. */
  isOfLeases?: true;
  /** There only while owners may look and change. */
  isOfOwners?: true;
  /** There only while files can be asked for. */
  isOfRequests?: true;
  /** There only while somebody can be told of uses. */
  isOfNotices?: true;
  /** There only while reports are taken. */
  isOfReports?: true;
  /** There only while creating needs a key. */
  isOfGuard?: true;
  /** It changes nothing, so that it may be asked twice. Decision nothing-sent-twice. */
  isRepeatable?: true;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a service answers. */
    route?: Route;
    /** Requests do not count against the client's rate limit: pages, files, the reference, health. All others do. */
    isUncounted?: true;
    /** Nor as under way: whoever watches must see what is, and the few bytes cannot be held. */
    isForMonitors?: true;
  }
}

const upload: Body = {
  largestBytes: ({ MAX_FILE_SIZE }) => MAX_FILE_SIZE,
  tooLarge: 'File size exceeds maximum allowed size',
};
const meta: Body = { largestBytes: () => META_BODY_BYTES };
const note: Body = {
  largestBytes: ({ NOTE_MAX_SIZE }) => Math.ceil((NOTE_MAX_SIZE + ENCRYPTION_BYTES) / 3) * 4 + OTHER_NOTE_BYTES,
  tooLarge: 'Note content exceeds maximum size',
};

const request: Body = { largestBytes: () => REQUEST_BODY_BYTES };
const part: Body = { largestBytes: (limits) => partLimits(limits)?.maxBytes ?? 0, isPrepaid: true };

/** An announcement that the service refuses is none. */
function announcedBytes(headers: IncomingHttpHeaders, limits: BodyLimits): number {
  const bytes = Number(headers['x-upload-length'] ?? headers['x-upload-length-max']);
  return Number.isSafeInteger(bytes) && bytes > 0 && bytes <= (partLimits(limits)?.maxFileSize ?? 0) ? bytes : 0;
}

/** What the gateway answers itself. */
export const OWN = {
  health: { method: 'GET', url: '/api/health' },
  config: { method: 'GET', url: '/api/config' },
} as const satisfies Record<string, Endpoint>;

/** What the gateway answers while `WORK=adaptive`. Contract 18. */
export const WORK = { method: 'GET', url: '/api/work' } as const satisfies Endpoint;

/** The contract's other endpoints and who answers them. What is not here is not reachable from outside. */
export const ROUTES: Route[] = [
  { method: 'POST', url: '/api/upload', service: 'files', body: upload, payload: 'request' },
  { method: 'DELETE', url: '/api/upload/:id', service: 'files', isGuarded: true },
  { method: 'POST', url: '/api/meta/:id', service: 'files', body: meta, isGuarded: true },
  { method: 'GET', url: '/api/info/:id', service: 'files', isRepeatable: true },
  { method: 'GET', url: '/api/exists/:id', service: 'files', isRepeatable: true },
  { method: 'POST', url: '/api/password/:id', service: 'files', isGuarded: true },
  { method: 'POST', url: '/api/unlock/:id', service: 'files', isGuarded: true },
  { method: 'GET', url: '/api/download/:id', service: 'files', isGuarded: true, payload: 'answer' },
  { method: 'GET', url: '/api/lease/:id', service: 'files', isGuarded: true, payload: 'answer', isOfLeases: true },
  { method: 'GET', url: '/api/lease/:id/info', service: 'files', isRepeatable: true, isOfLeases: true },
  { method: 'DELETE', url: '/api/lease/:id', service: 'files', isGuarded: true, isOfLeases: true },
  { method: 'POST', url: '/api/parts', service: 'files', announcedBytes, isOfParts: true },
  { method: 'GET', url: '/api/parts/:id', service: 'files', isGuarded: true, isOfParts: true },
  { method: 'DELETE', url: '/api/parts/:id', service: 'files', isGuarded: true, isOfParts: true },
  {
    method: 'POST',
    url: '/api/parts/:id/:number',
    service: 'files',
    body: part,
    isGuarded: true,
    payload: 'request',
    isOfParts: true,
  },
  { method: 'POST', url: '/api/parts/:id/complete', service: 'files', body: meta, isGuarded: true, isOfParts: true },
  { method: 'GET', url: '/api/arrival/:id', service: 'files', isRepeatable: true, isOfParts: true },
  { method: 'GET', url: '/api/own/upload/:id', service: 'files', isGuarded: true, isOfOwners: true },
  { method: 'POST', url: '/api/own/upload/:id/terms', service: 'files', isGuarded: true, isOfOwners: true },
  { method: 'POST', url: '/api/own/upload/:id/hooks', service: 'files', isGuarded: true, isOfNotices: true },
  { method: 'DELETE', url: '/api/own/upload/:id/hooks', service: 'files', isGuarded: true, isOfNotices: true },
  { method: 'POST', url: '/api/request', service: 'files', body: request, isOfRequests: true },
  { method: 'GET', url: '/api/request/:id', service: 'files', isRepeatable: true, isOfRequests: true },
  { method: 'DELETE', url: '/api/request/:id', service: 'files', isGuarded: true, isOfRequests: true },
  { method: 'POST', url: '/api/request/:id/drop', service: 'files', isGuarded: true, isOfRequests: true },
  { method: 'POST', url: '/api/request/:id/slot', service: 'files', isOfRequests: true, isOfGuard: true },
  { method: 'GET', url: '/api/request/:id/drops', service: 'files', isGuarded: true, isOfRequests: true },
  {
    method: 'POST',
    url: '/api/own/request/:id/hooks',
    service: 'files',
    isGuarded: true,
    isOfRequests: true,
    isOfNotices: true,
  },
  {
    method: 'DELETE',
    url: '/api/own/request/:id/hooks',
    service: 'files',
    isGuarded: true,
    isOfRequests: true,
    isOfNotices: true,
  },
  { method: 'POST', url: '/api/report/:id', service: 'files', body: request, isOfReports: true },
  { method: 'GET', url: '/api/notice/:id', service: 'files', isRepeatable: true, isOfReports: true },
  { method: 'POST', url: '/api/note', service: 'notes', body: note },
  { method: 'GET', url: '/api/note/:id', service: 'notes', isRepeatable: true },
  { method: 'DELETE', url: '/api/note/:id', service: 'notes', isGuarded: true },
  { method: 'POST', url: '/api/note/:id/view', service: 'notes', isGuarded: true },
  { method: 'POST', url: '/api/note/:id/password', service: 'notes', isGuarded: true },
  { method: 'GET', url: '/api/own/note/:id', service: 'notes', isGuarded: true, isOfOwners: true },
  { method: 'POST', url: '/api/own/note/:id/terms', service: 'notes', isGuarded: true, isOfOwners: true },
  { method: 'POST', url: '/api/own/note/:id/hooks', service: 'notes', isGuarded: true, isOfNotices: true },
  { method: 'DELETE', url: '/api/own/note/:id/hooks', service: 'notes', isGuarded: true, isOfNotices: true },
];

export const largestBody = ({ body }: Route, limits: BodyLimits) => body?.largestBytes(limits) ?? TOKEN_BODY_BYTES;

/** What is posted to an address without an id makes something new. */
export const isCreating = ({ method, url }: Endpoint) => method === 'POST' && !url.includes(':');

/** Those that there are with these settings. */
export const routesWith = (limits: BodyLimits, needsKey: boolean) =>
  ROUTES.filter(
    ({ isOfParts, isOfLeases, isOfOwners, isOfRequests, isOfGuard, isOfNotices, isOfReports }) =>
      !(isOfParts && !partLimits(limits)) &&
      !(isOfLeases && limits.DOWNLOAD_LEASE_SEC === 0) &&
      !(isOfOwners && limits.OWNER_CONTROL === 'no') &&
      !(isOfGuard && !needsKey) &&
      !(isOfReports && limits.REPORTS !== 'on') &&
      !(isOfRequests && limits.REQUESTS === 'no') &&
      !(isOfNotices && !noticeKinds(limits)),
  );

/** The methods that the endpoint at an address has; none where there is no endpoint. */
export function methodsOf(endpoints: Endpoint[]): (url: string) => string[] {
  const patterns = endpoints.map(({ method, url }) => ({
    method,
    path: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`),
  }));
  return (url) => {
    const path = url.split('?', 1)[0] ?? '';
    const methods = patterns.filter((pattern) => pattern.path.test(path)).map(({ method }) => method);
    return [...new Set(methods)];
  };
}
