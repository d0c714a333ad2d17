import { createApp } from '@mayfly/shared/app';
import { describe, expect, test } from 'vitest';
import { type Place, silent, startGateway, upstreamTo } from './start-gateway.ts';

const ORIGIN = 'https://app.example';

async function start(place: Place, corsOrigins?: string[]) {
  const stack = new AsyncDisposableStack();
  const service = createApp({ logger: silent });
  service.get('/api/exists/:id', async () => ({ exists: false }));
  const upstream = await upstreamTo(stack, service, place);
  const { url } = stack.use(await startGateway(upstream, { corsOrigins }));
  const corsOf = async (path: string, init: RequestInit) => {
    const { status, headers } = await fetch(url + path, init);
    const cors = [...headers].filter(([name]) => name.startsWith('access-control') || name === 'vary');
    return { status, headers: Object.fromEntries(cors) };
  };
  return { corsOf, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const preflight = (origin: string) => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-auth-token, x-salt',
  },
});

describe.each(['local', 'remote'] as const)('with services that are %s', (place) => {
  test('by default no origin is told anything', async () => {
    await using gateway = await start(place);
    expect(await gateway.corsOf('/api/exists/x', { headers: { origin: ORIGIN } })).toEqual({
      status: 200,
      headers: {},
    });
    expect(await gateway.corsOf('/api/upload', preflight(ORIGIN))).toEqual({ status: 405, headers: {} });
  });

  test('a listed origin may read answers, errors too, and the headers of the contract', async () => {
    await using gateway = await start(place, ['https://other.example', ORIGIN]);
    for (const path of ['/api/exists/x', '/api/config', '/api/nope']) {
      const { headers } = await gateway.corsOf(path, { headers: { origin: ORIGIN } });
      expect(headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' });
      for (const name of ['X-File-Count', 'Content-Length', 'Retry-After', 'RateLimit', 'RateLimit-Policy']) {
        expect(headers['access-control-expose-headers']?.split(', ')).toContain(name);
      }
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  test('its preflight is answered with what it asked for', async () => {
    await using gateway = await start(place, [ORIGIN]);
    expect(await gateway.corsOf('/api/upload', preflight(ORIGIN))).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': 'x-auth-token, x-salt',
      },
    });
  });

  test.each(['https://evil.example', 'null', `${ORIGIN}.evil.example`, 'http://app.example'])(
    'another origin is told nothing: %s',
    async (origin) => {
      await using gateway = await start(place, [ORIGIN]);
      const answer = await gateway.corsOf('/api/exists/x', { headers: { origin } });
      expect(answer).toEqual({ status: 200, headers: { vary: 'Origin' } });
      expect((await gateway.corsOf('/api/upload', preflight(origin))).status).toBe(405);
    },
  );
});
