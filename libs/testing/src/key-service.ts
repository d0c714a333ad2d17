import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { serve } from './listen.ts';

export type IssuedKeys = { accessKey: string; secretKey: string; sessionToken: string; endsAt: number };

export type KeyService = AsyncDisposable & {
  url: string;
  /** What a caller has to show: the token of a web identity, or of a container. */
  token: string;
  isAway: boolean;
  /** In milliseconds. */
  lifeMs: number;
  issued: IssuedKeys[];
  /** What it gives; unless a test says otherwise keys that only a fake store takes. */
  make: () => Promise<Omit<IssuedKeys, 'endsAt'>>;
};

export const ROLE = 'arn:aws:iam::111122223333:role/mayfly';

/** Gives keys that end, in the three ways of AWS: STS for a web identity, a service beside a container, the metadata of a machine. */
export async function startKeyService(): Promise<KeyService> {
  const server = await serve((request, response) => {
    answer(request).then(
      ({ status, body }) => response.writeHead(status).end(body),
      () => response.destroy(),
    );
  });
  const service: KeyService = {
    url: server.url,
    token: 'first-token',
    isAway: false,
    lifeMs: 60 * 60_000,
    issued: [],
    make: async () => {
      const number = service.issued.length;
      return { accessKey: `key-${number}`, secretKey: `secret-${number}`, sessionToken: `session-${number}/+=` };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };

  async function issue(): Promise<IssuedKeys> {
    const keys = { ...(await service.make()), endsAt: Date.now() + service.lifeMs };
    service.issued.push(keys);
    return keys;
  }

  async function answer(request: IncomingMessage): Promise<{ status: number; body: string }> {
    const body = await text(request);
    const { method, url = '', headers } = request;
    if (service.isAway) return { status: 503, body: 'away' };
    if (method === 'POST' && url === '/') return exchange(new URLSearchParams(body));
    if (method === 'GET' && url === '/v1/credentials') {
      return headers.authorization === service.token ? asJson(await issue()) : { status: 401, body: 'no' };
    }
    if (method === 'PUT' && url === '/latest/api/token') {
      return headers['x-aws-ec2-metadata-token-ttl-seconds'] ? { status: 200, body: 'of-the-machine' } : BAD;
    }
    if (headers['x-aws-ec2-metadata-token'] !== 'of-the-machine') return { status: 401, body: 'no' };
    if (url === '/latest/meta-data/iam/security-credentials/') return { status: 200, body: 'mayfly\n' };
    if (url === '/latest/meta-data/iam/security-credentials/mayfly') return asJson(await issue());
    return { status: 404, body: 'nothing' };
  }

  async function exchange(form: URLSearchParams) {
    if (form.get('Action') !== 'AssumeRoleWithWebIdentity' || form.get('Version') !== '2011-06-15') return BAD;
    if (form.get('RoleArn') !== ROLE || !form.get('RoleSessionName')) return BAD;
    if (form.get('WebIdentityToken') !== service.token) {
      return { status: 400, body: '<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>' };
    }
    const { accessKey, secretKey, sessionToken, endsAt } = await issue();
    const body = `<?xml version="1.0"?>
<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <Credentials>
      <SessionToken>${sessionToken}</SessionToken>
      <SecretAccessKey>${secretKey}</SecretAccessKey>
      <Expiration>${new Date(endsAt).toISOString()}</Expiration>
      <AccessKeyId>${accessKey}</AccessKeyId>
    </Credentials>
  </AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>`;
    return { status: 200, body };
  }

  return service;
}

const BAD = { status: 400, body: 'not as it is asked for' };

function asJson({ accessKey, secretKey, sessionToken, endsAt }: IssuedKeys) {
  const body = JSON.stringify({
    AccessKeyId: accessKey,
    SecretAccessKey: secretKey,
    Token: sessionToken,
    Expiration: new Date(endsAt).toISOString(),
  });
  return { status: 200, body };
}
