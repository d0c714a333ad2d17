import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { unusedPort } from '@mayfly/local-stores/ports';
import { inSuite } from '@mayfly/testing/in-suite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';
import { CLIENT, startIdentityProvider, walkThrough } from '../support/identity-provider.ts';
import { requestBody } from '../support/requests.ts';

const REFUSED = { error: 'Creating needs a sign-in' };
const FAILED = { error: 'Sign-in failed' };
const UNAVAILABLE = { error: 'Sign-in is not available' };

const port = await unusedPort();
const settingsOf = (issuer: string, changes = {}) => ({
  CREATE_GUARD: 'oidc',
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: CLIENT.id,
  OIDC_CLIENT_SECRET: CLIENT.secret,
  ...changes,
});
const BASE_URL = 'https://mayfly.example';
const ISSUER = `http://127.0.0.1:${port}`;

const provider = inSuite(() => startIdentityProvider(port));

const random = () => randomBytes(32).toString('base64url');
const newVisit = () => ({ verifier: random(), state: random(), nonce: random() });
type Visit = ReturnType<typeof newVisit>;

const askAddress = (api: Api, { verifier, state, nonce }: Visit) => {
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return call('POST', `${api.baseUrl}/api/session/address`, { json: { challenge, state, nonce } });
};
const askSession = (api: Api, answer: string, visit: Visit) =>
  call('POST', `${api.baseUrl}/api/session`, { json: { answer, ...visit } });

/** Where a browser comes back to. */
async function goAndComeBack(api: Api, visit: Visit, name = 'anna'): Promise<URL> {
  provider().people.next = name;
  const { body, status } = await askAddress(api, visit);
  expect(status).toBe(200);
  return walkThrough(String(body.url));
}

async function signIn(api: Api, name?: string): Promise<string> {
  const visit = newVisit();
  const { search } = await goAndComeBack(api, visit, name);
  const { status, body } = await askSession(api, search, visit);
  expect([status, Object.keys(body)]).toEqual([201, ['token', 'endsAt']]);
  return String(body.token);
}

const bearer = (text: string) => ({ Authorization: `Bearer ${text}` });
const createNote = (api: Api, headers: Record<string, string> = {}) =>
  call('POST', `${api.baseUrl}/api/note`, { json: noteBody(), headers });
const upload = (api: Api, bytes: number, headers: Record<string, string> = {}) =>
  api.upload(Buffer.alloc(bytes), uploadHeaders({ authToken: token(), ownerToken: token() }, headers));
const at = ({ replicas, api }: ShapeUnderTest, index: number) => replicas[index % replicas.length] ?? api;

const logsOf = ({ running }: ShapeUnderTest) => running.processes.map(({ output }) => output()).join('');
/** Tokens of services that run no more. */
const others: string[] = [];

describeEachShape(
  'a service where people sign in',
  settingsOf(ISSUER, { BASE_URL, CREATE_QUOTA_BYTES: '100000' }),
  (service) => {
    describe('POST /api/session', () => {
      test('signs in who comes back from the provider, on another replica, too; the token creates on every one', async () => {
        const visit = newVisit();
        const back = await goAndComeBack(at(service, 0), visit);
        expect(`${back.origin}${back.pathname}`).toBe(`${BASE_URL}/signin`);
        const { status, body, headers } = await askSession(at(service, 1), back.search, visit);
        expect(status).toBe(201);
        expect(headers['set-cookie']).toBeUndefined();
        expect(String(body.token)).toMatch(/^mfo_\d+\.[\w-]{80}$/);
        const leftMs = Date.parse(String(body.endsAt)) - Date.now();
        expect(leftMs).toBeGreaterThan(3_500_000);
        expect(leftMs).toBeLessThanOrEqual(3_600_000);
        for (const api of service.replicas)
          expect((await createNote(api, bearer(String(body.token)))).status).toBe(201);
        const json = requestBody();
        const asked = await call('POST', `${service.api.baseUrl}/api/request`, {
          json,
          headers: bearer(String(body.token)),
        });
        expect(asked.status).toBe(201);
      });

      test('400 with another state, nonce or verifier than the visit began with, and nobody is signed in', async () => {
        for (const changed of ['state', 'nonce', 'verifier'] as const) {
          const visit = newVisit();
          const { search } = await goAndComeBack(service.api, visit);
          const { status, body } = await askSession(service.api, search, { ...visit, [changed]: random() });
          expect([changed, status, body]).toEqual([changed, 400, FAILED]);
        }
      });

      test('400 for a code that was used, is none, or belongs to another visit', async () => {
        const [first, second] = [newVisit(), newVisit()];
        const { search } = await goAndComeBack(service.api, first);
        const other = await goAndComeBack(service.api, second);
        other.searchParams.set('state', first.state);
        const made = [other.search, `?code=none&state=${first.state}&iss=${ISSUER}`, `?state=${first.state}`];
        for (const answer of made) expect((await askSession(service.api, answer, first)).body).toEqual(FAILED);
        expect((await askSession(service.api, search, first)).status).toBe(201);
        const again = await askSession(service.api, search, first);
        expect([again.status, again.body]).toEqual([400, FAILED]);
      });

      test('400 when the provider says that somebody else has answered, or that it was refused', async () => {
        const visit = newVisit();
        const back = await goAndComeBack(service.api, visit);
        back.searchParams.set('iss', 'https://elsewhere.example');
        expect((await askSession(service.api, back.search, visit)).body).toEqual(FAILED);
        provider().people.refuses = true;
        const refused = await goAndComeBack(service.api, visit).finally(() => {
          provider().people.refuses = false;
        });
        expect(refused.searchParams.get('error')).toBe('access_denied');
        const { status, body } = await askSession(service.api, refused.search, visit);
        expect([status, body]).toEqual([400, FAILED]);
      });

      test('400 for a body that cannot be one', async () => {
        const good = { answer: '?code=a', ...newVisit() };
        const wrong = [
          {},
          { answer: 'code=a' },
          { answer: '?a#b' },
          { answer: `?${'a'.repeat(7_000)}` },
          { state: 'short' },
          { nonce: 1 },
        ];
        for (const changes of wrong) {
          const json = changes.answer || changes.state || changes.nonce ? { ...good, ...changes } : {};
          const { status, body } = await call('POST', `${service.api.baseUrl}/api/session`, { json });
          expect([status, body.error]).toEqual([400, 'Invalid request']);
        }
        const large = { ...good, answer: `?${'a'.repeat(10_000)}` };
        expect((await call('POST', `${service.api.baseUrl}/api/session`, { json: large })).status).toBe(413);
      });
    });

    describe('POST /api/session/address', () => {
      test('is an address of the provider, for a code, with the challenge, and no secret', async () => {
        const visit = newVisit();
        const { status, body, headers } = await askAddress(service.api, visit);
        expect([status, headers['set-cookie']]).toEqual([200, undefined]);
        const url = new URL(String(body.url));
        expect(url.origin).toBe(ISSUER);
        expect(Object.fromEntries(url.searchParams)).toEqual({
          client_id: CLIENT.id,
          redirect_uri: `${BASE_URL}/signin`,
          response_type: 'code',
          scope: 'openid',
          code_challenge: createHash('sha256').update(visit.verifier).digest('base64url'),
          code_challenge_method: 'S256',
          state: visit.state,
          nonce: visit.nonce,
        });
      });

      test('asks who it is, on request', async () => {
        const { verifier, ...visit } = newVisit();
        const json = { ...visit, challenge: verifier, isAnother: true };
        const { body } = await call('POST', `${service.api.baseUrl}/api/session/address`, { json });
        expect(new URL(String(body.url)).searchParams.get('prompt')).toBe('login');
      });

      test('400 without all that belongs to a visit, 405 for another method', async () => {
        const url = `${service.api.baseUrl}/api/session/address`;
        expect((await call('POST', url, { json: { state: random() } })).status).toBe(400);
        expect((await call('GET', url)).headers.allow).toBe('POST');
      });
    });

    test('creating is 401 without a token, with a key, and with a token that was changed or is of another service', async () => {
      const good = await signIn(service.api);
      others.push(good);
      const [, end = '', sealed = ''] = /^mfo_(\d+)\.(.+)$/.exec(good) ?? [];
      const flipped = (sealed[40] === 'A' ? 'B' : 'A') + sealed.slice(41);
      const wrong = [
        {},
        bearer(`mfk_${token()}`),
        bearer(`mfo_${Number(end) + 1}.${sealed}`),
        bearer(`mfo_${end}.${sealed.slice(0, 40)}${flipped}`),
        bearer(`mfo_${end}.${'A'.repeat(80)}`),
        bearer(`mfo_${Date.now() + 3_000_000}.${sealed}`),
        bearer(`mfo_${Number(end) + 86_400_000}.${sealed}`),
        ...others.filter((one) => one !== good).map(bearer),
      ];
      for (const [index, headers] of wrong.entries()) {
        const answer = await createNote(at(service, index), headers as Record<string, string>);
        expect([answer.status, answer.body, answer.headers['www-authenticate']]).toEqual([401, REFUSED, 'Bearer']);
      }
      expect((await createNote(service.api, bearer(good))).status).toBe(201);
    });

    test('whoever has a link needs none, nor who sends to a request', async () => {
      const good = bearer(await signIn(service.api));
      const note = noteBody();
      const { body } = await call('POST', `${service.api.baseUrl}/api/note`, { json: note, headers: good });
      expect((await service.api.view(String(body.id), note.authToken)).status).toBe(200);
      const asked = await call('POST', `${service.api.baseUrl}/api/request`, { json: requestBody(), headers: good });
      const { slot } = (await call('POST', `${service.api.baseUrl}/api/request/${asked.body.id}/slot`)).body;
      expect((await upload(service.api, 10, { 'X-Request-Slot': String(slot) })).status).toBe(200);
    });

    test('a day has so many bytes for each person, however often they sign in; another one has as many', async () => {
      const tokens = [
        await signIn(service.api, 'bela'),
        await signIn(service.api, 'bela'),
        await signIn(service.api, 'bela'),
      ];
      const answers = [];
      for (const [index, one] of tokens.entries()) answers.push(await upload(at(service, index), 40_000, bearer(one)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect((await upload(service.api, 40_000, bearer(await signIn(service.api, 'cleo')))).status).toBe(200);
    });

    test('clients are told, and the reference says it of what creates alone', async () => {
      expect((await call('GET', `${service.api.baseUrl}/api/config`)).body).toMatchObject({ createGuard: 'oidc' });
      const { paths } = (await call('GET', `${service.api.baseUrl}/api/openapi.json`)).body as {
        paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
      };
      const guarded = Object.entries(paths)
        .filter(([, { post }]) => post?.responses['401']?.description === REFUSED.error)
        .map(([path]) => path);
      expect(guarded.sort()).toEqual(['/api/note', '/api/parts', '/api/request', '/api/upload']);
    });

    test('nothing of it is in a log', async () => {
      const visit = newVisit();
      const { search } = await goAndComeBack(service.api, visit, 'dora');
      const { body } = await askSession(service.api, search, visit);
      await createNote(service.api, bearer(String(body.token)));
      const code = new URLSearchParams(search).get('code') ?? '';
      await sleep(200);
      const logs = logsOf(service);
      expect(logs).toContain('/api/session');
      const secrets = [code, String(body.token), visit.state, visit.nonce, visit.verifier, CLIENT.secret, 'dora'];
      expect(code.length).toBeGreaterThan(20);
      expect(secrets.filter((secret) => logs.includes(secret))).toEqual([]);
    });
  },
);

describeEachShape(
  'a service for some of the accounts there, for a moment',
  settingsOf(ISSUER, {
    OIDC_SCOPE: 'openid groups',
    OIDC_CLAIM: 'groups',
    OIDC_CLAIM_VALUES: 'ops,staff',
    OIDC_SESSION_SEC: '3',
  }),
  (service) => {
    test('403 for who is in none of the groups; the others create, until their token has ended', async () => {
      const visit = newVisit();
      const { search } = await goAndComeBack(service.api, visit, 'guest');
      const { status, body } = await askSession(service.api, search, visit);
      expect([status, body]).toEqual([403, { error: 'This account may not create' }]);

      const good = bearer(await signIn(service.api, 'anna'));
      expect((await createNote(service.api, good)).status).toBe(201);
      await sleep(3_000);
      const late = await createNote(service.api, good);
      expect([late.status, late.body]).toEqual([401, REFUSED]);
    });
  },
);

describeEachShape(
  'a service for the addresses of one domain',
  settingsOf(ISSUER, { OIDC_SCOPE: 'openid email', OIDC_CLAIM: 'email', OIDC_CLAIM_VALUES: '@example.org' }),
  (service) => {
    test('403 for an address that nobody has verified', async () => {
      const visit = newVisit();
      const { search } = await goAndComeBack(service.api, visit, 'mallory');
      expect((await askSession(service.api, search, visit)).status).toBe(403);
      await signIn(service.api, 'anna');
    });
  },
);

const latePort = await unusedPort();
describeEachShape('a service whose provider is not there', settingsOf(`http://127.0.0.1:${latePort}`), (service) => {
  test('starts and answers all else; creating is 401, signing in 503, until the provider is there', async () => {
    const { baseUrl } = service.api;
    expect((await call('GET', `${baseUrl}/api/health`)).status).toBe(200);
    expect((await call('GET', `${baseUrl}/api/config`)).body).toMatchObject({ createGuard: 'oidc' });
    expect((await createNote(service.api)).body).toEqual(REFUSED);
    const away = await askAddress(service.api, newVisit());
    expect([away.status, away.body, away.headers['retry-after']]).toEqual([503, UNAVAILABLE, '5']);
    const session = await askSession(service.api, '?code=a&state=b', newVisit());
    expect([session.status, session.body]).toEqual([503, UNAVAILABLE]);
    await using _ = await startIdentityProvider(latePort);
    expect((await askAddress(service.api, newVisit())).status).toBe(200);
  });
});

const silentPort = await unusedPort();
describeEachShape('a service whose provider says nothing', settingsOf(`http://127.0.0.1:${silentPort}`), (service) => {
  const silent = createServer(() => {});
  beforeAll(() => new Promise<void>((resolve) => silent.listen(silentPort, '127.0.0.1', resolve)));
  afterAll(() => void silent.close());

  test('is 503 after five seconds, and answers others at once', async () => {
    const from = performance.now();
    const asking = Promise.all(Array.from({ length: 20 }, () => askAddress(service.api, newVisit())));
    expect((await call('GET', `${service.api.baseUrl}/api/config`)).status).toBe(200);
    expect((await createNote(service.api)).status).toBe(401);
    expect(performance.now() - from).toBeLessThan(3_000);
    for (const { status, body } of await asking) expect([status, body]).toEqual([503, UNAVAILABLE]);
    expect(performance.now() - from).toBeLessThan(9_000);
  });
});

describeEachShape('a service where nobody signs in', {}, (service) => {
  test('has no such endpoints', async () => {
    for (const path of ['session', 'session/address']) {
      const { status, body } = await call('POST', `${service.api.baseUrl}/api/${path}`, { json: {} });
      expect([status, body]).toEqual([404, { error: 'Not Found' }]);
    }
    expect((await call('GET', `${service.api.baseUrl}/api/config`)).body).not.toHaveProperty('createGuard');
  });
});
