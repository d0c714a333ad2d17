import type { Config } from '@mayfly/shared/config';
import { HttpError } from '@mayfly/shared/errors';
import type { Logger } from '@mayfly/shared/logger';
import type { ClientAuth, Configuration } from 'openid-client';
import type { signInSettings } from '../settings.ts';

type Library = typeof import('openid-client');
type Claims = Record<string, unknown> & { sub: string };

type Asked = { redirectUri: string; challenge: string; state: string; nonce: string; isAnother?: boolean };

export type IssuerSettings = Omit<Config<typeof signInSettings>, 'OIDC_SESSION_SEC'> & {
  OIDC_ISSUER: string;
  OIDC_CLIENT_ID: string;
};

/** Each request to the provider has so long. */
const TIMEOUT_SEC = 5;
/** Its addresses are asked for again after so long. */
const FRESH_MS = 3_600_000;
const CLOCKS_SEC = 30;

/** What is wrong with what the client has brought, rather than with the provider. */
const OF_THE_CLIENT = [
  'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
];

export const signInFailed = () => new HttpError(400, 'Sign-in failed');
export const mayNotCreate = () => new HttpError(403, 'This account may not create');
export const signInUnavailable = () =>
  new HttpError(503, 'Sign-in is not available', { headers: { 'retry-after': '5' } });

/** The provider at which people sign in (OpenID Connect). It need not be there before somebody wants to. */
export function openIssuer(settings: IssuerSettings, logger: Logger) {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_SCOPE, OIDC_CLAIM, OIDC_CLAIM_VALUES } = settings;
  let opening: Promise<{ library: Library; config: Configuration }> | undefined;
  let openedAt = 0;

  async function discover() {
    const library = await import('openid-client'); // where nobody signs in it takes no memory
    const isInsecure = OIDC_ISSUER.startsWith('http:');
    const config = await library.discovery(
      new URL(OIDC_ISSUER),
      OIDC_CLIENT_ID,
      { [library.clockTolerance]: CLOCKS_SEC },
      OIDC_CLIENT_SECRET === undefined ? library.None() : secretAuth(library, OIDC_CLIENT_SECRET),
      { timeout: TIMEOUT_SEC, execute: isInsecure ? [library.allowInsecureRequests] : [] },
    );
    return { library, config };
  }

  function open() {
    if (performance.now() - openedAt > FRESH_MS) opening = undefined;
    if (!opening) openedAt = performance.now();
    opening ??= discover().catch((error: unknown) => {
      opening = undefined; // whoever comes next tries again
      throw error;
    });
    return opening;
  }

  async function told<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof HttpError) throw error;
      const { code = (error as Error).name, error: reason } = Object(error) as { code?: string; error?: string };
      if (OF_THE_CLIENT.includes(code) || reason === 'invalid_grant') throw signInFailed();
      logger.warn({ code, reason }, 'nobody can sign in: the provider did not answer as it should');
      throw signInUnavailable();
    }
  }

  return {
    /** Where a browser goes to sign in, and comes back from with an answer. */
    address: (asked: Asked) =>
      told(async () => {
        const { library, config } = await open();
        return library.buildAuthorizationUrl(config, {
          redirect_uri: asked.redirectUri,
          scope: OIDC_SCOPE,
          code_challenge: asked.challenge,
          code_challenge_method: 'S256',
          state: asked.state,
          nonce: asked.nonce,
          ...(asked.isAnother ? { prompt: 'login' } : {}),
        }).href;
      }),

    /** Who has signed in, among all issuers. Rejects with an HttpError where nobody has, or somebody who may not create. */
    subjectOf: (answer: URL, { verifier, state, nonce }: { verifier: string; state: string; nonce: string }) =>
      told(async () => {
        const { library, config } = await open();
        const checks = {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        };
        const tokens = await library.authorizationCodeGrant(config, answer, checks);
        let claims = tokens.claims() as Claims;
        if (OIDC_CLAIM && claims[OIDC_CLAIM] === undefined && config.serverMetadata().userinfo_endpoint)
          claims = { ...(await library.fetchUserInfo(config, tokens.access_token, claims.sub)) };
        if (OIDC_CLAIM && OIDC_CLAIM_VALUES && !isAllowed(claims, OIDC_CLAIM, OIDC_CLAIM_VALUES)) throw mayNotCreate();
        return JSON.stringify([OIDC_ISSUER, claims.sub]);
      }),
  };
}

/** Providers take a client's secret in one of two ways, and say in which. */
function secretAuth(library: Library, secret: string): ClientAuth {
  const [basic, post] = [library.ClientSecretBasic(secret), library.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    authenticate(server, ...rest);
  };
}

/** An address of mail counts only once it was verified, since some let everybody choose one; `@example.org` stands for all there. */
function isAllowed(claims: Claims, claim: string, values: ReadonlySet<string>): boolean {
  const told = [claims[claim]].flat().filter((one) => typeof one === 'string');
  if (claim !== 'email') return told.some((one) => values.has(one));
  const mail = claims.email_verified === true ? told.map((one) => one.toLowerCase()) : [];
  return mail.some((one) => values.has(one) || values.has(`@${one.split('@').at(-1)}`));
}
