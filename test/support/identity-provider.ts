/// <reference path="./oidc-provider.d.ts" />
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

export const CLIENT = { id: 'mayfly-test', secret: randomBytes(24).toString('hex') };

/** Who has an account: everybody, under any name. */
const claimsOf = (sub: string) => ({
  sub,
  email: `${sub}@example.org`,
  email_verified: sub !== 'mallory',
  groups: sub === 'guest' ? ['guests'] : ['guests', 'staff'],
});

type Context = { oidc: { client: { clientId: string }; session: { accountId: string }; params: { scope: string } } };

/**
 * An OpenID Connect provider on this port of this machine. Whoever goes there to sign in has the name that `next` says, after a
 * click if `asks`; nobody is asked whether the service may know it.
 */
export async function startIdentityProvider(port: number) {
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: ['https://mayfly.example/signin'] }],
    cookies: { keys: [randomBytes(16).toString('hex')] },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    features: { devInteractions: { enabled: false } },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 600, Grant: 600, Session: 600 },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => claimsOf(accountId) }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc: { client, session, params } }: Context) {
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope(params.scope);
      await grant.save();
      return grant;
    },
  });
  // A service of a test may have a port that was not known before.
  const { redirectUriAllowed } = provider.Client.prototype;
  provider.Client.prototype.redirectUriAllowed = function (uri) {
    return redirectUriAllowed.call(this, uri) || /^http:\/\/127\.0\.0\.1:\d+\/signin$/.test(uri);
  };
  const people = { next: 'anna', asks: false, refuses: false };
  const answer = provider.callback();
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (!url.startsWith('/interaction/')) return answer(request, response);
    if (people.asks && !url.endsWith('/yes')) {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      return response.end(`<!doctype html><title>Provider</title><a href="${url}/yes">Sign in as ${people.next}</a>`);
    }
    const login = { login: { accountId: people.next, remember: false } };
    void provider.interactionFinished(request, response, people.refuses ? { error: 'access_denied' } : login);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    issuer,
    people,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows a browser's way through the provider, and answers where it comes back to. */
export async function walkThrough(from: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(from);
  for (let steps = 0; steps < 10; steps++) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
    await answer.arrayBuffer();
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split(/=(.*)/) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`the provider answered ${answer.status}`);
    url = new URL(location, url);
    if (url.pathname === '/signin') return url;
  }
  throw new Error('the provider leads nowhere');
}
