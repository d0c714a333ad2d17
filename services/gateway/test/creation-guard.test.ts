import { createApp } from '@mayfly/shared/app';
import { ConfigError, loadConfig } from '@mayfly/shared/config';
import { expect, test } from 'vitest';
import { openGateway, settings } from '../src/index.ts';
import { isCreating, ROUTES } from '../src/routes.ts';
import { freshConnection, silent, upstreamTo } from './start-gateway.ts';

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
