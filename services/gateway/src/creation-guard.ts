import { HttpError } from '@mayfly/shared/errors';
import type { App, GatewayDeps } from './deps.ts';
import type { RequestLimits } from './limits/limits.ts';
import { requestSlots } from './request-slots.ts';
import { isCreating } from './routes.ts';
import type { ApiDocument } from './upstream.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** A slot and when it ends, for the service to give or not. */
    newSlot: string | undefined;
  }
}

const keyNeeded = () => new HttpError(401, 'Creating needs a key', { headers: { 'www-authenticate': 'Bearer' } });

/** Lets nobody create who may not, where the settings say so; nothing else changes. Decision keys-to-create. */
export function guardCreation(app: App, { creationGuard, redis }: GatewayDeps, requests: RequestLimits) {
  app.decorateRequest('newSlot', undefined);
  if (!creationGuard) return;
  const slots = requestSlots(redis, requests.sharedKey);
  app.addHook('onRequest', async (request) => {
    const { route } = request.routeOptions.config;
    const { headers } = request.raw;
    if (route?.isOfGuard) {
      const { slot, endsAt } = await slots.make();
      request.newSlot = `${slot} ${endsAt.toISOString()}`;
    }
    if (!route || !isCreating(route)) return;
    const { 'x-request-slot': slot } = headers;
    const mayCreate = creationGuard.permits(request.raw);
    delete headers[creationGuard.header]; // the services need not see them
    delete headers['x-request-slot'];
    if (mayCreate) return;
    const isUpload = route.payload === 'request' || route.announcedBytes !== undefined;
    if (!isUpload || typeof slot !== 'string' || !(await slots.spend(slot))) throw keyNeeded();
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
