import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Api, call, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const ORIGIN = 'https://app.example';

describeEachShape('CORS, off', {}, (service) => {
  test('no answer says anything to other origins', async () => {
    for (const path of ['/api/config', '/api/exists/x', '/api/nope']) {
      const { headers } = await call('GET', service.api.baseUrl + path, { headers: { origin: ORIGIN } });
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    const asked = { origin: ORIGIN, 'access-control-request-method': 'POST' };
    expect((await call('OPTIONS', `${service.api.baseUrl}/api/upload`, { headers: asked })).status).toBe(405);
  });
});

describeEachShape(
  'CORS for one origin',
  { CORS_ORIGINS: `https://other.example, ${ORIGIN}`, RATE_LIMIT_MAX: '20', RATE_LIMIT_WINDOW_SEC: '2' },
  (service) => {
    test('a page of that origin can preflight, upload and download', async () => {
      const api = new Api(service.api.baseUrl);
      const sender = { authToken: token(), ownerToken: token() };
      const headers = uploadHeaders(sender);
      const asked = {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': Object.keys(headers).join(',').toLowerCase(),
      };
      const preflight = await fetch(`${api.baseUrl}/api/upload`, { method: 'OPTIONS', headers: asked });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-headers')).toContain('x-owner-token');
      const uploaded = await api.upload(randomBytes(1000), { ...headers, origin: ORIGIN });
      expect(uploaded).toMatchObject({
        status: 200,
        headers: { 'access-control-allow-origin': ORIGIN, vary: 'Origin' },
      });
      const downloaded = await call('GET', `${api.baseUrl}/api/download/${uploaded.body.id}`, {
        headers: { 'x-auth-token': sender.authToken, origin: ORIGIN },
      });
      expect(downloaded).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': ORIGIN } });
      expect(downloaded.headers['access-control-expose-headers']).toMatch(/X-File-Count/);
    });

    test('it may read errors, those of the limits, too', async () => {
      const seen = [];
      for (let i = 0; i < 30; i++) {
        const { status, headers } = await call('GET', `${service.api.baseUrl}/api/info/x`, {
          headers: { origin: ORIGIN },
        });
        seen.push(status);
        expect(headers['access-control-allow-origin']).toBe(ORIGIN);
      }
      expect([...new Set(seen)]).toEqual([404, 429]);
      await sleep(2_100); // the next test may ask again
    });
  },
);
