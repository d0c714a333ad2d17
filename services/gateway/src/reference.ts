import swaggerUi from '@fastify/swagger-ui';
import { describeGuard } from './creation-guard.ts';
import type { App, GatewayDeps } from './deps.ts';
import type { ApiDocument } from './upstream.ts';

const DESCRIPTION = `Encrypted file and note sharing through links that live briefly. Clients encrypt; the service keeps
ciphertext, counts downloads and views, and forgets. \`base64\` and \`base64url\` (RFC 4648, sections 4 and 5) are different
encodings. Error bodies are JSON objects with \`error\`.`;

/** `GET /api/openapi.json`: one document put together from those of the services. `GET /api/docs`: the same, to read. */
export function reference(app: App, { upstreams, baseUrl, version, creationGuard }: GatewayDeps) {
  app.get('/api/openapi.json', { schema: { hide: true } }, async (): Promise<ApiDocument> => {
    const described = await Promise.all([upstreams.files.describe(), upstreams.notes.describe()]);
    const documents = [app.swagger() as unknown as ApiDocument, ...described]; // OpenAPI's own type has optional paths
    const paths = Object.assign({}, ...documents.map(({ paths }) => paths)) as ApiDocument['paths'];
    if (creationGuard) describeGuard(paths, creationGuard);
    return {
      openapi: '3.1.0',
      info: {
        title: 'Mayfly',
        version,
        description: DESCRIPTION,
        license: { name: 'AGPL-3.0-only', identifier: 'AGPL-3.0-only' },
      },
      servers: [{ url: baseUrl ?? '/' }],
      security: [],
      tags: [
        { name: 'uploads', description: 'Encrypted files and archives' },
        { name: 'notes', description: 'Encrypted notes' },
        { name: 'service', description: 'The service itself' },
      ],
      paths,
    };
  });
  app.register(async (pages) => {
    pages.addHook('onRoute', (route) => {
      route.config = { ...route.config, isUncounted: true };
    });
    pages.register(swaggerUi, {
      routePrefix: '/api/docs',
      staticCSP: true,
      uiConfig: { url: '/api/openapi.json', deepLinking: true, docExpansion: 'list' },
    });
  });
}
