import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { findMinio, startMinio } from '@mayfly/local-stores/minio';
import { ConfigError, loadConfig } from '@mayfly/shared/config';
import { Unavailable } from '@mayfly/shared/errors';
import { blobSettings } from '@mayfly/shared/settings';
import { ROLE, startKeyService } from '@mayfly/testing/key-service';
import { serve } from '@mayfly/testing/listen';
import { startS3Fake } from '@mayfly/testing/s3-fake';
import { freshFolder } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openBlobs } from '../src/open-blobs.ts';
import { renewedKeys } from '../src/s3/renewed-keys.ts';
import { keySource } from '../src/s3/temporary-keys.ts';
import { memoryStoreRecord } from './memory-store-record.ts';

// Keys of the S3 store that end, and where they come from. Decision s3-keys-without-secrets.

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;

const stack = new AsyncDisposableStack();
const fake = stack.use(await startS3Fake());
const service = stack.use(await startKeyService());
const folder = stack.use(await freshFolder());
const tokenFile = join(folder.path, 'token');
afterAll(() => stack.disposeAsync());

beforeEach(async () => {
  Object.assign(service, { token: 'first-token', isAway: false, lifeMs: 60 * 60_000, issued: [] });
  await writeFile(tokenFile, 'first-token\n');
  // The store takes what was given, as long as it is good, and with the token of its session.
  fake.admits = (key, session) =>
    service.issued.some(
      ({ accessKey, sessionToken, endsAt }) => accessKey === key && sessionToken === session && Date.now() < endsAt,
    );
});

const WAYS = {
  'web-identity': {
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ROLE_ARN: ROLE,
    AWS_ENDPOINT_URL_STS: service.url,
  },
  container: {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
  },
  instance: { AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url },
};
type Way = keyof typeof WAYS;
const ways = Object.keys(WAYS) as Way[];

function configOf(way: Way, without: string[] = []) {
  const { S3_ACCESS_KEY: _, S3_SECRET_KEY: __, ...place } = fake.settings;
  const env: Record<string, string> = { ...place, S3_BUCKET: randomUUID(), S3_KEYS: way, ...WAYS[way] };
  for (const name of without) delete env[name];
  return { ...loadConfig(blobSettings, env), UPLOAD_SESSION_SEC: 3_600, UPLOAD_PART_BYTES_MIN: 5 * 2 ** 20 };
}

const open = (way: Way) => openBlobs(configOf(way), memoryStoreRecord(), logger);
const one = async function* () {
  yield Buffer.from('one');
};

const AUDIENCE = 'sts.amazonaws.com';

/** Who vouches for tokens, as a cluster does: what it is called, its public key, and tokens that it has signed. */
async function startIssuer() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const server = await serve((request, response) => {
    const isList = request.url?.endsWith('/keys');
    const list = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] };
    response.end(JSON.stringify(isList ? list : { issuer: server.url, jwks_uri: `${server.url}/keys` }));
  });
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    ...server,
    token(claims: object) {
      const now = Math.floor(Date.now() / 1_000);
      const times = { iat: now, exp: now + 3_600 };
      const text = `${encode({ alg: 'RS256', kid: 'one', typ: 'JWT' })}.${encode({ iss: server.url, sub: 'files', ...times, ...claims })}`;
      return `${text}.${sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64url')}`;
    },
  };
}

describe.each(ways)('keys by %s', (way) => {
  test('are renewed again and again, and no payload, part, list or deletion meets one that has ended', async () => {
    service.lifeMs = 4_000;
    await using blobs = await open(way);
    const until = Date.now() + 9_000;
    let rounds = 0;
    while (Date.now() < until) {
      const ids = [randomUUID(), randomUUID()] as const;
      await blobs.put(ids[0], one(), 3, never);
      const storeRef = await blobs.parts.begin(ids[1]);
      const tag = await blobs.parts.put({ id: ids[1], storeRef, number: 1 }, one(), 3, never);
      await blobs.parts.complete(ids[1], storeRef, [{ number: 1, bytes: 3, tag }]);
      for (const id of ids) {
        const payload = await blobs.open(id);
        expect(payload && (await buffer(payload)).toString()).toBe('one');
      }
      const listed: string[] = [];
      for await (const page of blobs.list()) listed.push(...page.map(({ id }) => id));
      expect(listed.sort()).toEqual([...ids].sort());
      expect(await blobs.delete([...ids])).toEqual([]);
      await blobs.check();
      rounds += 1;
      await sleep(100);
    }
    expect(rounds).toBeGreaterThan(20);
    expect(service.issued.length).toBeGreaterThanOrEqual(4);
    expect(service.issued.length, 'not one for each request').toBeLessThanOrEqual(6);
    const [first] = service.issued;
    expect(fake.admits(first?.accessKey ?? '', first?.sessionToken ?? ''), 'the store does refuse what has ended').toBe(
      false,
    );
  });

  test('that are not given make the store unavailable, until they are', async () => {
    service.lifeMs = 2_500;
    await using blobs = await open(way);
    service.isAway = true;
    await sleep(1_000);
    const id = randomUUID();
    for (const attempt of [
      () => blobs.put(id, one(), 3, never),
      () => blobs.open(id),
      () => blobs.check(),
      () => blobs.parts.begin(id),
      () => blobs.parts.put({ id, storeRef: 'a', number: 1 }, one(), 3, never),
    ]) {
      await expect(attempt()).rejects.toThrow(Unavailable);
    }
    expect(await blobs.delete([id])).toEqual([id]);
    service.isAway = false;
    await blobs.put(id, one(), 3, never);
  });
});

test.each(['web-identity', 'container'] as const)(
  'the token for %s is read anew: somebody else keeps it fresh',
  async (way) => {
    const source = keySource(configOf(way));
    await source?.();
    service.token = 'second-token';
    await expect(source?.()).rejects.toThrow(/answered 40[01]/);
    await writeFile(tokenFile, 'second-token\n');
    await source?.();
    expect(service.issued).toHaveLength(2);
  },
);

test('an answer that is no JSON tells nothing of the keys that are in it', async () => {
  await using broken = await serve((_request, response) => response.end('{"SecretAccessKey":hush}'));
  const source = keySource({ S3_REGION: 'here', S3_KEYS: 'container', AWS_CONTAINER_CREDENTIALS_FULL_URI: broken.url });
  const error = await source?.().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Error);
  expect(String(error)).not.toMatch(/hush/);
});

test.each(ways)('what fails by %s tells neither a token nor where it went', async (way) => {
  service.token = 'another-token';
  if (way === 'instance') service.isAway = true;
  const error = await keySource(configOf(way))?.().catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(Error);
  expect(String((error as Error).stack)).not.toMatch(/first-token|127\.0\.0\.1|secret|session/);
});

test.each([
  ['web-identity', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  ['container', 'AWS_CONTAINER_CREDENTIALS_FULL_URI'],
] as const)('by %s without %s nothing starts', (way, name) => {
  expect(() => keySource(configOf(way, [name]))).toThrow(
    new ConfigError(`Bad settings: ${name} is missing (S3_KEYS).`),
  );
});

const minio = findMinio();
test.skipIf(!minio)('a real store exchanges a token for keys, and takes what is signed with them', async () => {
  await using issuer = await startIssuer();
  await using server = await startMinio(minio ?? '', {
    MINIO_IDENTITY_OPENID_CONFIG_URL: `${issuer.url}/.well-known/openid-configuration`,
    MINIO_IDENTITY_OPENID_CLIENT_ID: AUDIENCE,
  });
  const place = {
    S3_ENDPOINT: server.url,
    S3_BUCKET: 'payloads',
    S3_KEYS: 'web-identity',
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ENDPOINT_URL_STS: server.url,
  };
  const config = loadConfig(blobSettings, place);
  await writeFile(tokenFile, issuer.token({ policy: 'readwrite', aud: 'somebody-else' }));
  await expect(keySource(config)?.()).rejects.toThrow(/answered 4\d\d/);
  await writeFile(tokenFile, issuer.token({ policy: 'readwrite', aud: AUDIENCE }));
  await using blobs = await openBlobs(config, memoryStoreRecord(), logger);
  const id = randomUUID();
  await blobs.put(id, one(), 3, never);
  const payload = await blobs.open(id);
  expect(payload && (await buffer(payload)).toString()).toBe('one');
  expect(await blobs.delete([id])).toEqual([]);
});

describe('renewal', () => {
  const HOUR = 60 * 60_000;
  afterAll(() => vi.useRealTimers());
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: 0 }));

  function renewing() {
    const asked: { give(): void; refuse(): void }[] = [];
    const keys = renewedKeys(() => {
      const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof keys>>>();
      const number = asked.length;
      asked.push({
        give: () =>
          resolve({
            accessKey: `${number}`,
            secretKey: 's',
            sessionToken: 't',
            expiresAt: new Date(Date.now() + HOUR),
          }),
        refuse: () => reject(new Error('away')),
      });
      return promise;
    });
    return { asked, key: async () => (await keys()).accessKey };
  }

  test('happens a quarter of an hour before the end, while the old keys go on being used', async () => {
    const { asked, key } = renewing();
    const first = [key(), key(), key()];
    expect(asked, 'all wait for one answer').toHaveLength(1);
    asked[0]?.give();
    expect(await Promise.all(first)).toEqual(['0', '0', '0']);
    vi.setSystemTime(HOUR * 0.74);
    expect(await key()).toBe('0');
    expect(asked).toHaveLength(1);
    vi.setSystemTime(HOUR * 0.76);
    expect([await key(), await key()]).toEqual(['0', '0']);
    expect(asked).toHaveLength(2);
    asked[1]?.give();
    await vi.waitFor(async () => expect(await key()).toBe('1'));
    expect(asked).toHaveLength(2);
  });

  test('that fails is tried again every ten seconds, and the old keys are used to their end', async () => {
    const { asked, key } = renewing();
    const first = key();
    asked[0]?.give();
    await first;
    vi.setSystemTime(HOUR * 0.8);
    await key();
    asked[1]?.refuse();
    await new Promise(setImmediate);
    expect(await key()).toBe('0');
    expect(asked).toHaveLength(2);
    vi.setSystemTime(HOUR * 0.8 + 10_000);
    expect(await key()).toBe('0');
    expect(asked).toHaveLength(3);
    asked[2]?.refuse();
    await new Promise(setImmediate);
    vi.setSystemTime(HOUR - 1_000);
    const late = key();
    asked[3]?.refuse();
    await expect(late).rejects.toThrow('away');
    const later = key();
    asked[4]?.give();
    expect(await later).toBe('4');
  });
});
