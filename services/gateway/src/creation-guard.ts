import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from '@mayfly/shared/errors';
import { partLimits } from '@mayfly/shared/part-limits';
import type { App, GatewayDeps } from './deps.ts';
import type { Creator } from './limits/creator-quotas.ts';
import { chargedBytes } from './limits/http/charge.ts';
import { tooMany } from './limits/http/limit-requests.ts';
import { settleBytes } from './limits/http/settle.ts';
import { msToMidnight } from './limits/keys/daily-names.ts';
import type { RequestLimits } from './limits/limits.ts';
import { requestSlots } from './request-slots.ts';
import { isCreating, largestBody, ROUTES, type Route } from './routes.ts';
import { createTokens } from './sign-in/create-tokens.ts';
import type { ApiDocument } from './upstream.ts';
import type { CreationGuard } from './who-may-create.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** A slot and when it ends, for the service to give or not. */
    newSlot: string | undefined;
  }
}

const refusal = ({ needs }: CreationGuard) => new HttpError(401, needs, { headers: { 'www-authenticate': 'Bearer' } });

/** Lets nobody create who may not, where the settings say so; nothing else changes. Decision keys-to-create. */
export function guardCreation(
  app: App,
  { creationGuard, redis, limits, now = Date.now }: GatewayDeps,
  requests: RequestLimits,
) {
  app.decorateRequest('newSlot', undefined);
  if (!creationGuard) return;
  const slots = requestSlots(redis, requests.sharedKey);
  const tokens = createTokens(requests.sharedKey, creationGuard.signIn?.OIDC_SESSION_SEC ?? 0, now);
  app.addHook('onRequest', async (request, reply) => {
    const { route } = request.routeOptions.config;
    const { headers } = request.raw;
    if (route?.isOfGuard) {
      const { slot, endsAt } = await slots.make();
      request.newSlot = `${slot} ${endsAt.toISOString()}`;
    }
    if (!route || !isCreating(route)) return;
    const { 'x-request-slot': slot } = headers;
    const creator = await creationGuard.creatorOf(request.raw, tokens);
    delete headers[creationGuard.header]; // the services need not see them
    delete headers['x-request-slot'];
    if (creator) return charge(creator, route, request.raw, reply.raw);
    const isUpload = route.payload === 'request' || route.announcedBytes !== undefined;
    if (!isUpload || typeof slot !== 'string' || !(await slots.spend(slot))) throw refusal(creationGuard);
  });

  /** What a client may store is charged already, to its address. Decision quota-of-a-creator. */
  async function charge(creator: Creator, route: Route, request: IncomingMessage, response: ServerResponse) {
    const { 'x-owner-token': ownerToken } = request.headers;
    const seconds = partLimits(limits)?.sessionSec ?? 0;
    const session = route.announcedBytes ? { ownerToken: String(ownerToken), seconds } : undefined;
    const bytes = chargedBytes(request.headers, route, largestBody(route, limits), limits);
    const charging = requests.creators.charge(creator, bytes, session);
    const giveBack = async () => (await charging).giveBack();
    settleBytes({ giveBack }, request, response); // before anything is waited for: the client may leave
    const { isExceeded } = await charging;
    if (isExceeded) throw tooMany('Upload quota exceeded', msToMidnight(now()));
    if (!request.socket.destroyed) return;
    await giveBack();
    throw tooMany('Too many requests', 0); // for nobody
  }
}

/** The answer of the guard, in the document of the services' endpoints. */
export function describeGuard(paths: ApiDocument['paths'], guard: CreationGuard) {
  const { body } = refusal(guard);
  const schema = { type: 'object', required: ['error'], properties: { error: { type: 'string' } } };
  const answer = {
    description: body.error,
    content: { 'application/json': { schema, examples: { refused: { value: body } } } },
  };
  const operations = paths as Record<string, { post?: { responses: object } }>;
  for (const { url } of ROUTES.filter(isCreating))
    Object.assign(operations[url]?.post?.responses ?? {}, { 401: answer });
}
