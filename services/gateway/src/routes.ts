const KIB = 1024;
/** A token of 512 characters and what is around it. */
const TOKEN_BODY_BYTES = 4 * KIB;
const META_BODY_BYTES = 256 * KIB;
/** Everything in a note but its content, which is as long as the encryption makes it, and base64. */
const OTHER_NOTE_BYTES = 16 * KIB;
const ENCRYPTION_BYTES = 256;

export type Service = 'files' | 'notes';
export type BodyLimits = { MAX_FILE_SIZE: number; NOTE_MAX_SIZE: number };
export type Route = {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
  service: Service;
  /** The largest body that its service takes. What is larger is refused here, whatever the service is set to. Decision 82. */
  largestBody: (limits: BodyLimits) => number;
  /** How that is said, unless in the words of the status. Contract: Errors, 413. */
  tooLarge?: string;
  /** Its body counts against the client's quota. Decision 13. */
  isCharged?: true;
  /** It checks a token of the item, so that wrong ones are counted. Decision 79. */
  isGuarded?: true;
  /** A payload streams: it may take hours. Everything else is small and has little time. */
  isTransfer?: true;
  /** It changes nothing, so that it may be asked twice. Decision 31. */
  isRepeatable?: true;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route;
  }
}

const small = () => TOKEN_BODY_BYTES;
const upload = {
  largestBody: ({ MAX_FILE_SIZE }: BodyLimits) => MAX_FILE_SIZE,
  tooLarge: 'File size exceeds maximum allowed size',
};
const meta = { largestBody: () => META_BODY_BYTES };
const note = {
  largestBody: ({ NOTE_MAX_SIZE }: BodyLimits) =>
    Math.ceil((NOTE_MAX_SIZE + ENCRYPTION_BYTES) / 3) * 4 + OTHER_NOTE_BYTES,
  tooLarge: 'Note content exceeds maximum size',
};

/** The contract's endpoints and who answers them. What is not here is not reachable from outside. */
export const ROUTES: Route[] = [
  { method: 'POST', url: '/api/upload', service: 'files', ...upload, isCharged: true, isTransfer: true },
  { method: 'DELETE', url: '/api/upload/:id', service: 'files', largestBody: small, isGuarded: true },
  { method: 'POST', url: '/api/meta/:id', service: 'files', ...meta, isCharged: true, isGuarded: true },
  { method: 'GET', url: '/api/info/:id', service: 'files', largestBody: small, isRepeatable: true },
  { method: 'GET', url: '/api/exists/:id', service: 'files', largestBody: small, isRepeatable: true },
  { method: 'POST', url: '/api/password/:id', service: 'files', largestBody: small, isGuarded: true },
  { method: 'GET', url: '/api/download/:id', service: 'files', largestBody: small, isGuarded: true, isTransfer: true },
  { method: 'POST', url: '/api/note', service: 'notes', ...note, isCharged: true },
  { method: 'GET', url: '/api/note/:id', service: 'notes', largestBody: small, isRepeatable: true },
  { method: 'DELETE', url: '/api/note/:id', service: 'notes', largestBody: small, isGuarded: true },
  { method: 'POST', url: '/api/note/:id/view', service: 'notes', largestBody: small, isGuarded: true },
  { method: 'POST', url: '/api/note/:id/password', service: 'notes', largestBody: small, isGuarded: true },
];
