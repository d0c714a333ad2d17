export type Service = 'files' | 'notes';
export type Route = {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
  service: Service;
  /** Its body counts against the client's quota. Decision 13. */
  isCharged?: true;
  /** It checks a token of the item, so that wrong ones are counted. Decision 15. */
  isGuarded?: true;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route;
  }
}

/** The contract's endpoints and who answers them. What is not here is not reachable from outside. */
export const ROUTES: Route[] = [
  { method: 'POST', url: '/api/upload', service: 'files', isCharged: true },
  { method: 'DELETE', url: '/api/upload/:id', service: 'files', isGuarded: true },
  { method: 'POST', url: '/api/meta/:id', service: 'files', isCharged: true, isGuarded: true },
  { method: 'GET', url: '/api/info/:id', service: 'files' },
  { method: 'GET', url: '/api/exists/:id', service: 'files' },
  { method: 'POST', url: '/api/password/:id', service: 'files', isGuarded: true },
  { method: 'GET', url: '/api/download/:id', service: 'files', isGuarded: true },
  { method: 'POST', url: '/api/note', service: 'notes', isCharged: true },
  { method: 'GET', url: '/api/note/:id', service: 'notes' },
  { method: 'DELETE', url: '/api/note/:id', service: 'notes', isGuarded: true },
  { method: 'POST', url: '/api/note/:id/view', service: 'notes', isGuarded: true },
  { method: 'POST', url: '/api/note/:id/password', service: 'notes', isGuarded: true },
];
