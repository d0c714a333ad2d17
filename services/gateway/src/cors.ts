import type { App } from './deps.ts';

const FOR_SCRIPTS = [
  'Content-Length',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-File-Count',
  'X-Request-Id',
].join(', ');

/**
 * Lets scripts of the listed origins use the API; no origin, no header. Preflights are answered here. Credentials are not
 * allowed: tokens travel in headers and bodies that the script sets itself. It comes before every other rule, so that a
 * script can read their answers.
 */
export function cors(app: App, origins: readonly string[] = []) {
  if (origins.length === 0) return;
  app.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/api/')) return;
    reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !origins.includes(origin)) return;
    reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': FOR_SCRIPTS });
    const wanted = request.headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || wanted === undefined) return;
    const headers = request.headers['access-control-request-headers'];
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'GET, POST, DELETE',
        ...(headers ? { 'access-control-allow-headers': headers } : {}),
        'access-control-max-age': '7200',
      })
      .send();
  });
}
