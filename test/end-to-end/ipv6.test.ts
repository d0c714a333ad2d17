import { networkInterfaces } from 'node:os';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { describe, expect, test } from 'vitest';
import { Api, call } from '../support/api.ts';

// HOST=:: and ADMIN_HOST=::, as on a network that has nothing but IPv6.

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

describe.skipIf(!hasIpv6 || SHAPES.includes('deployed')).each(SHAPES)(
  'IPv6 (%s; skipped where this machine has none)',
  (shape) => {
    const running = inSuite(() => startShape(shape, { HOST: '::', ADMIN_HOST: '::', RATE_LIMIT_MAX: '1000' }));

    test('every process is reached by it, files and notes by their gateway too', async () => {
      expect(running().baseUrl).toMatch(/^http:\/\/\[::1\]:/);
      const api = new Api(running().baseUrl);
      const upload = await api.newUpload();
      expect((await api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
      const note = await api.newNote();
      expect((await api.view(note.id, note.authToken)).status).toBe(200);
      for (const { adminUrl } of running().processes) {
        const url = new URL('/readyz', adminUrl);
        url.hostname = '[::1]';
        expect((await call('GET', url.href)).status).toBe(200);
      }
    });

    test('and by IPv4 besides, where clients are known by that address', async () => {
      const url = new URL(running().baseUrl);
      url.hostname = '127.0.0.1';
      const left = async (base: string) =>
        Number(/r=(\d+)/.exec(String((await call('GET', `${base}/api/config`)).headers.ratelimit))?.[1]);
      const byIpv6 = await left(running().baseUrl);
      expect(await left(url.origin), 'another client, who has asked for nothing yet').toBe(999);
      expect(byIpv6).toBeLessThan(999);
    });
  },
);
