import type { IncomingMessage } from 'node:http';
import { createApp } from '@mayfly/shared/app';
import { ConfigError, loadConfig } from '@mayfly/shared/config';
import { expect, test } from 'vitest';
import { openGateway, settings } from '../src/index.ts';
import { isCreating, ROUTES } from '../src/routes.ts';
import { creationGuard } from '../src/who-may-create.ts';
import { freshConnection, silent, upstreamTo } from './start-gateway.ts';

const NO_TOKENS = { make: () => Promise.reject(), nameIn: async () => undefined };

test('what is posted to an address without an id creates, and nothing else does', () => {
  const creating = ROUTES.filter(isCreating).map(({ url }) => url);
  expect(creating).toEqual(['/api/upload', '/api/parts', '/api/request', '/api/note']);
});

test.each([{}, { CREATE_KEYS: ' , ' }, { CREATE_KEYS: 'mfk_itself' }])(
  'a gateway that asks for keys does not start without any: %o',
  async (keys) => {
    await using stack = new AsyncDisposableStack();
    const upstream = await upstreamTo(stack, createApp({ logger: silent }), 'local');
    const redis = await freshConnection(stack);
    const env = { REDIS_URL: 'redis://127.0.0.1:1', CREATE_GUARD: 'key', ...keys };
    const open = async () => {
      const config = loadConfig(settings({}), env);
      const upstreams = { files: upstream, notes: upstream };
      await openGateway(stack, { config, upstreams, redis, scrape: async () => '', logger: silent });
    };
    await expect(open()).rejects.toThrow(ConfigError);
    await expect(open()).rejects.toThrow(/CREATE_KEYS/);
  },
);

const CONNECTED: [string, Record<string, string>, RegExp][] = [
  ['no header is named', { TRUST_PROXY: '10.0.0.1' }, /CREATE_HEADER/],
  ['nobody is trusted', { CREATE_HEADER: 'X-User' }, /TRUST_PROXY/],
  ['a number of proxies is trusted, whoever they are', { CREATE_HEADER: 'X-User', TRUST_PROXY: '1' }, /TRUST_PROXY/],
  ['the name is none', { CREATE_HEADER: 'X User', TRUST_PROXY: '10.0.0.1' }, /CREATE_HEADER/],
  ['a value is empty', { CREATE_HEADER: 'X-User', CREATE_HEADER_VALUES: 'a,,b', TRUST_PROXY: '::1' }, /HEADER_VALUES/],
];

test.each(CONNECTED)('a gateway that goes by a header does not start when %s', (_, given, names) => {
  const env = { REDIS_URL: 'redis://127.0.0.1:1', CREATE_GUARD: 'header', ...given };
  expect(() => creationGuard(loadConfig(settings({}), env))).toThrow(ConfigError);
  expect(() => creationGuard(loadConfig(settings({}), env))).toThrow(names);
});

test.each([
  ['10.0.0.7', true],
  ['::ffff:10.0.0.7', true],
  ['10.0.1.7', false],
  ['2001:db8::1', true],
  ['2001:db9::1', false],
  ['', false],
])('a header counts on a connection from a proxy only: %s, %s', (remoteAddress, isBelieved) => {
  const env = { REDIS_URL: 'redis://127.0.0.1:1', CREATE_GUARD: 'header', CREATE_HEADER: 'X-User' };
  const guard = creationGuard(loadConfig(settings({}), { ...env, TRUST_PROXY: '10.0.0.0/24,2001:db8::/32' }));
  const from = (values: string[]) =>
    guard?.creatorOf(
      { headersDistinct: { 'x-user': values }, socket: { remoteAddress } } as unknown as IncomingMessage,
      NO_TOKENS,
    );
  expect(from(['anna'])).toEqual(isBelieved ? { name: 'header:anna', quotaBytes: 0 } : undefined);
  for (const none of [[], [''], ['anna', 'anna']]) expect(from(none)).toBeUndefined();
});

const PROVIDER = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'mayfly' };
const SIGNED_IN: [string, Record<string, string>, RegExp][] = [
  ['no provider is named', { OIDC_CLIENT_ID: 'mayfly' }, /OIDC_ISSUER/],
  ['the provider is in the open', { ...PROVIDER, OIDC_ISSUER: 'http://id.example' }, /OIDC_ISSUER/],
  ['it only looks like one here', { ...PROVIDER, OIDC_ISSUER: 'http://localhost.example' }, /OIDC_ISSUER/],
  ['it has no name there', { OIDC_ISSUER: 'https://id.example' }, /OIDC_CLIENT_ID/],
  ['a claim has no values', { ...PROVIDER, OIDC_CLAIM: 'groups' }, /OIDC_CLAIM_VALUES/],
  ['values have no claim', { ...PROVIDER, OIDC_CLAIM_VALUES: 'staff' }, /OIDC_CLAIM/],
  ['no identity is asked for', { ...PROVIDER, OIDC_SCOPE: 'email' }, /OIDC_SCOPE/],
];

test.each(SIGNED_IN)('a gateway at which people sign in does not start when %s', (_, given, names) => {
  const env = { REDIS_URL: 'redis://127.0.0.1:1', CREATE_GUARD: 'oidc', ...given };
  expect(() => creationGuard(loadConfig(settings({}), env))).toThrow(ConfigError);
  expect(() => creationGuard(loadConfig(settings({}), env))).toThrow(names);
});

test('and does with a provider on this machine, in the open', () => {
  for (const OIDC_ISSUER of ['http://localhost:8080/realms/a', 'http://[::1]:1', 'https://id.example/a']) {
    const env = { REDIS_URL: 'redis://127.0.0.1:1', CREATE_GUARD: 'oidc', ...PROVIDER, OIDC_ISSUER };
    expect(creationGuard(loadConfig(settings({}), env))?.signIn?.OIDC_ISSUER).toBe(OIDC_ISSUER);
  }
});
