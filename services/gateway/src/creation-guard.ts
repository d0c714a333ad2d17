import { createHash } from 'node:crypto';
import { HttpError } from '@mayfly/shared/errors';
import type { App, GatewayDeps } from './deps.ts';
import { isCreating } from './routes.ts';
import type { ApiDocument } from './upstream.ts';

/** Long enough that nobody finds one: a key is compared by a plain hash. */
const BEARER = /^Bearer +(mfk_[A-Za-z0-9_-]{22,512})$/i;

const keyNeeded = () => new HttpError(401, 'Creating needs a key', { headers: { 'www-authenticate': 'Bearer' } });

/** Lets nobody create without a key, where the settings say so; nothing else changes. Decision keys-to-create. */
export function guardCreation(app: App, { createKeys }: Pick<GatewayDeps, 'createKeys'>) {
  if (!createKeys) return;
  app.addHook('onRequest', async ({ routeOptions, raw }) => {
    const { route } = routeOptions.config;
    if (!route || !isCreating(route)) return;
    const key = BEARER.exec(raw.headers.authorization ?? '')?.[1];
    delete raw.headers.authorization; // the services need not see it
    if (!key || !createKeys.has(createHash('sha256').update(key).digest('hex'))) throw keyNeeded();
  });
}

/** The answer of the guard, in the document of the services' endpoints. */
export function describeGuard(paths: ApiDocument['paths']) {
  const { body } = keyNeeded();
  const schema = { type: 'object', required: ['error'], properties: { error: { type: 'string' } } };
  const answer = {
    description: body.error,
    content: { 'application/json': { schema, examples: { refused: { value: body } } } },
  };
  for (const [url, operations] of Object.entries(paths as Record<string, { post?: { responses: object } }>)) {
    if (operations.post && isCreating({ method: 'POST', url: url.replaceAll('{', ':') }))
      Object.assign(operations.post.responses, { 401: answer });
  }
}
