import { createApp } from '@mayfly/shared/app';
import { exchange, requestHead } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { remoteUpstream } from '../src/remote-upstream.ts';
import { fakeService } from './fake-service.ts';
import { silent, startGateway, upstreamTo } from './start-gateway.ts';

const statusOf = (answer: string) => answer.match(/^HTTP\/1\.1 (\d+)/)?.[1];

describe('what is ambiguous reaches no service', () => {
  test.each(['xchunked', 'gzip, chunked', 'chunked, chunked', 'identity', 'chunked;x=1', ''])(
    'Transfer-Encoding: %s, on a connection that is warm',
    async (coding) => {
      await using service = await fakeService();
      await using upstream = remoteUpstream(service.url, silent);
      await using gateway = await startGateway(upstream);
      expect((await fetch(`${gateway.url}/api/exists/x`)).status).toBe(200);
      for (let i = 0; i < 20; i++) {
        const head = `POST /api/note HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ${coding}\r\n\r\n`;
        expect(
          statusOf(await exchange(gateway.url, `${head}0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`)),
        ).toMatch(/^4/);
      }
      expect(service.received.join('')).not.toMatch(/POST|smuggled/);
    },
  );

  test('an address that names another host', async () => {
    await using service = await fakeService();
    await using upstream = remoteUpstream(service.url, silent);
    await using gateway = await startGateway(upstream);
    for (const target of ['http://evil.example/api/exists/x', '//evil.example/api/exists/x', '*', 'api/exists/x']) {
      const answer = await exchange(gateway.url, requestHead(`GET ${target}`, { Connection: 'close' }));
      expect(statusOf(answer), target).toMatch(/^40[04]$/);
    }
    expect(service.received).toHaveLength(0);
  });
});

describe.each(['local', 'remote'] as const)('a service that is %s', (place) => {
  async function start() {
    const stack = new AsyncDisposableStack();
    const service = createApp({ logger: silent });
    service.get('/api/exists/:id', async ({ headers }) => headers);
    const upstream = await upstreamTo(stack, service, place);
    const { url } = stack.use(await startGateway(upstream));
    return { url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }
  const ask = async (headers: string) => {
    await using gateway = await start();
    const answer = await exchange(
      gateway.url,
      `GET /api/exists/x HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`,
    );
    expect(statusOf(answer)).toBe('200');
    return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as Record<string, string>;
  };

  test('sees no internal header of any name from outside', async () => {
    const seen = await ask('X-Mayfly-Admin: 1\r\nx-mayfly-base-url: http://evil.example\r\nX-MAYFLY-Client: 2\r\n');
    expect(Object.keys(seen).filter((name) => name.startsWith('x-mayfly-'))).toEqual(['x-mayfly-base-url']);
    expect(seen['x-mayfly-base-url']).toBe('https://public.example');
  });

  test('sees a header that came twice as the gateway does', async () => {
    const seen = await ask('X-Auth-Token: one\r\nX-Auth-Token: two\r\nAuthorization: one\r\nAuthorization: two\r\n');
    expect(seen).toMatchObject({ 'x-auth-token': 'one, two', authorization: 'one' });
  });
});
