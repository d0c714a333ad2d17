import { setTimeout as sleep } from 'node:timers/promises';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshDatabase } from '@mayfly/testing/stores';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { Api, call } from '../support/api.ts';

const statusOf = (url: string) =>
  fetch(url).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status;
    },
    () => 0, // nobody listens
  );

describe.each(SHAPES)('the admin port (%s)', (shape) => {
  const database = inSuite(() => freshDatabase({ hasTables: true }));
  const proxy = inSuite(() => openFaultProxy(database().url));
  const running = inSuite(() => startShape(shape, { DATABASE_URL: proxy().url }));
  const all = (path: string) => Promise.all(running().processes.map(({ adminUrl }) => statusOf(adminUrl + path)));
  const every = (status: number) => running().processes.map(() => status);

  test('every process has one that says that it is alive and ready', async () => {
    expect(
      running()
        .processes.map(({ name }) => name)
        .sort(),
    ).toEqual(shape === 'all' ? ['all'] : ['files', 'files', 'gateway', 'gateway', 'janitor', 'notes', 'notes']);
    expect(await all('/livez')).toEqual(every(200));
    expect(await all('/readyz')).toEqual(every(200));
    expect(await all('/api/config')).toEqual(every(404));
  });

  test('the public port does not route it', async () => {
    for (const baseUrl of running().baseUrls) {
      for (const path of ['/livez', '/readyz', '/metrics', '/whoami', '/admin', '/admin/readyz', '/api/readyz']) {
        expect((await call('GET', baseUrl + path)).status, path).toBe(404);
      }
    }
  });

  test('without PostgreSQL every process is alive, and ready but for those that need it; afterwards all are', async () => {
    proxy().cut();
    const expected = running().processes.map(({ name }) => (name === 'gateway' ? 200 : 503));
    await expect.poll(() => all('/readyz'), { timeout: 10_000 }).toEqual(expected);
    expect(await all('/livez')).toEqual(every(200));
    const answer = await fetch(`${running().processes.find(({ name }) => name !== 'gateway')?.adminUrl}/readyz`);
    expect(await answer.json()).toEqual({ error: 'Service unavailable' });
    proxy().mend();
    await untilTrue(async () => (await all('/readyz')).every((status) => status === 200));
  });

  test('a process that drains is alive and not ready, and ends when its last download has', async () => {
    const api = new Api(running().baseUrl);
    const upload = await api.newUpload({}, Buffer.alloc(30_000_000));
    const gateway = running().processes.find(({ url }) => url === running().baseUrl);
    if (!gateway) throw new Error('one of the processes has the public address');
    const socket = await openSocket(running().baseUrl);
    socket.write(requestHead(`GET /api/download/${upload.id}`, { 'X-Auth-Token': upload.authToken }));
    await new Promise((resolve) => socket.once('readable', resolve)); // and reads no further
    const stopped = gateway.stop();
    await untilTrue(async () => (await statusOf(`${gateway.adminUrl}/readyz`)) === 503);
    await sleep(500);
    expect(await statusOf(`${gateway.adminUrl}/livez`)).toBe(200);
    expect(await statusOf(`${running().baseUrl}/api/config`)).toBe(0);
    let bytes = 0;
    for await (const chunk of socket) {
      bytes += (chunk as Buffer).length;
      if (bytes > upload.payload.length) break; // the headers, too
    }
    expect(bytes).toBeGreaterThan(upload.payload.length);
    socket.destroy();
    await stopped;
    expect(gateway.child.exitCode).toBe(0);
  });
});
