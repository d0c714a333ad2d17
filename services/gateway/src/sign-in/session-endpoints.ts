import { errorAnswers } from '@mayfly/shared/answers';
import { invalidRequest } from '@mayfly/shared/errors';
import { Timestamp } from '@mayfly/shared/fields';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { App, GatewayDeps } from '../deps.ts';
import type { RequestLimits } from '../limits/limits.ts';
import type { Endpoint } from '../routes.ts';
import { createTokens } from './create-tokens.ts';
import { mayNotCreate, openIssuer, signInFailed, signInUnavailable } from './issuer.ts';

/** There only where people sign in. */
export const SIGN_IN = {
  address: { method: 'POST', url: '/api/session/address' },
  session: { method: 'POST', url: '/api/session' },
} as const satisfies Record<string, Endpoint>;

/** Codes and what providers put beside them. */
const BODY_BYTES = 8 * 1024;

const Random = Type.String({ pattern: '^[\\w-]{22,128}$', description: 'base64url of at least 16 random bytes' });

/** Contract 16.2: where to sign in, and a token for who has. The page keeps all that belongs together until it is back. */
export function sessionEndpoints(
  app: App,
  { creationGuard, baseUrl, logger, now }: GatewayDeps,
  requests: RequestLimits,
) {
  if (!creationGuard?.signIn) return;
  const { signIn } = creationGuard;
  const issuer = openIssuer(signIn, logger);
  const tokens = createTokens(requests.sharedKey, signIn.OIDC_SESSION_SEC, now);
  const pageIn = (request: FastifyRequest) =>
    `${baseUrl?.replace(/\/+$/, '') ?? `${request.protocol}://${request.host}`}/signin`;

  const addressSchema = {
    operationId: 'addressOfSignIn',
    tags: ['service'],
    summary: 'Where a browser goes to sign in',
    body: Type.Object({
      challenge: Type.String({ pattern: '^[\\w-]{43}$', description: 'base64url of the SHA-256 of a verifier (PKCE)' }),
      state: Random,
      nonce: Random,
    }),
    response: {
      200: Type.Object({ url: Type.String() }),
      ...errorAnswers({ 400: invalidRequest({}), 503: signInUnavailable() }),
    },
  };
  app.post(SIGN_IN.address.url, { schema: addressSchema, bodyLimit: BODY_BYTES }, async (request) => ({
    url: await issuer.address({ ...request.body, redirectUri: pageIn(request) }),
  }));

  const sessionSchema = {
    operationId: 'signIn',
    tags: ['service'],
    summary: 'A token for who has come back from signing in',
    body: Type.Object({
      answer: Type.String({
        pattern: '^\\?[^#\\s]{1,6000}$',
        description: 'all of the address that the browser came back to, from the question mark',
      }),
      verifier: Type.String({ pattern: '^[\\w.~-]{43,128}$' }),
      state: Random,
      nonce: Random,
    }),
    response: {
      201: Type.Object({ token: Type.String(), endsAt: Timestamp }),
      ...errorAnswers({ 400: [invalidRequest({}), signInFailed()], 403: mayNotCreate(), 503: signInUnavailable() }),
    },
  };
  app.post(SIGN_IN.session.url, { schema: sessionSchema, bodyLimit: BODY_BYTES }, async (request, reply) => {
    const { answer, ...held } = request.body;
    const subject = await issuer.subjectOf(new URL(pageIn(request) + answer), held);
    const { token, endsAt } = await tokens.make(subject);
    reply.code(201);
    return { token, endsAt: endsAt.toISOString() };
  });
}
