const KIB = 1024;
/** A token of 512 characters and what is around it. */
const TOKEN_BODY_BYTES = 4 * KIB;
const META_BODY_BYTES = 256 * KIB;
/** Everything in a note but its content, which is as long as the encryption makes it, and base64. */
const OTHER_NOTE_BYTES = 16 * KIB;
const ENCRYPTION_BYTES = 256;

export type Service = 'files' | 'notes';
export type BodyLimits = { MAX_FILE_SIZE: number; NOTE_MAX_SIZE: number };
/** An address of the API, and all that the gateway has to know about it. */
export type Endpoint = {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
};

/** What an endpoint takes besides a token. It counts against the client's quota. Decision 13. */
type Body = {
  /** What is larger is refused here, whatever the service is set to. Decision 82. */
  largestBytes: (limits: BodyLimits) => number;
  /** How that is said, unless in the words of the status. Contract: Errors, 413. */
  tooLarge?: string;
};

/** An endpoint that a service answers. */
export type Route = Endpoint & {
  service: Service;
  /** Without it there is room for a token, which is not charged. */
  body?: Body;
  /** It checks a token of the item, so that wrong ones are counted. Decision 79. */
  isGuarded?: true;
  /** Which side streams a payload: it may take hours. Everything else is small and has little time. */
  payload?: 'request' | 'answer';
  /** It changes nothing, so that it may be asked twice. Decision 31. */
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

/** What the gateway answers itself. */
export const OWN = {
  health: { method: 'GET', url: '/api/health' },
  config: { method: 'GET', url: '/api/config' },
} as const satisfies Record<string, Endpoint>;

/** The contract's other endpoints and who answers them. What is not here is not reachable from outside. */
export const ROUTES: Route[] = [
  { method: 'POST', url: '/api/upload', service: 'files', body: upload, payload: 'request' },
  { method: 'DELETE', url: '/api/upload/:id', service: 'files', isGuarded: true },
  { method: 'POST', url: '/api/meta/:id', service: 'files', body: meta, isGuarded: true },
  { method: 'GET', url: '/api/info/:id', service: 'files', isRepeatable: true },
  { method: 'GET', url: '/api/exists/:id', service: 'files', isRepeatable: true },
  { method: 'POST', url: '/api/password/:id', service: 'files', isGuarded: true },
  { method: 'GET', url: '/api/download/:id', service: 'files', isGuarded: true, payload: 'answer' },
  { method: 'POST', url: '/api/note', service: 'notes', body: note },
  { method: 'GET', url: '/api/note/:id', service: 'notes', isRepeatable: true },
  { method: 'DELETE', url: '/api/note/:id', service: 'notes', isGuarded: true },
  { method: 'POST', url: '/api/note/:id/view', service: 'notes', isGuarded: true },
  { method: 'POST', url: '/api/note/:id/password', service: 'notes', isGuarded: true },
];

export const largestBody = ({ body }: Route, limits: BodyLimits) => body?.largestBytes(limits) ?? TOKEN_BODY_BYTES;

const PATTERNS = [...Object.values(OWN), ...ROUTES].map(({ method, url }) => ({
  method,
  path: new RegExp(`^${url.replace(':id', '[^/]+')}$`),
}));

/** The methods that the endpoint at this address has; none where there is no endpoint. */
export function methodsOf(url: string): string[] {
  const path = url.split('?', 1)[0] ?? '';
  return PATTERNS.filter((pattern) => pattern.path.test(path)).map(({ method }) => method);
}
