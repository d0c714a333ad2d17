import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { openSocket, received, requestHead, untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { localUpstream } from '../src/index.ts';
import { remoteUpstream } from '../src/remote-upstream.ts';
import { fakeService } from './fake-service.ts';
import { type Place, silent, startGateway } from './start-gateway.ts';

/** Slots of a place: six of them may be transfers. */
const MOST = 9;

/** A service that answers what is small and has read every upload but its last byte for ever; uploads under way at each place. */
async function start(place: Place, places = 1) {
  const stack = new AsyncDisposableStack();
  const underWay: (() => number)[] = [];
  const upstream = await (place === 'local' ? local() : remote());
  const { url } = stack.use(await startGateway(upstream));

  async function local() {
    let uploads = 0;
    const app = stack.adopt(createApp({ logger: silent }), (one) => one.close());
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.post('/api/upload', (_request, reply) => {
      uploads++;
      reply.raw.once('close', () => uploads--);
    });
    app.get('/api/exists/:id', async () => ({ ok: true }));
    app.get('/readyz', async () => ({ ok: true }));
    underWay.push(() => uploads);
    return localUpstream(app, MOST);
  }

  async function remote() {
    const addresses: LookupAddress[] = [];
    let port = 0;
    for (let i = 0; i < places; i++) {
      const address = `127.0.0.${41 + i}`;
      const uploads = new Set<Socket>();
      const answer = (socket: Socket, all: string) => {
        if (!all.includes('POST /api/upload')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
        else if (!uploads.has(socket)) {
          uploads.add(socket);
          socket.once('close', () => uploads.delete(socket));
        }
      };
      const service = stack.use(await fakeService(answer, address, port));
      port = service.port;
      addresses.push({ address, family: 4 });
      underWay.push(() => uploads.size);
    }
    return stack.use(remoteUpstream(`http://files.test:${port}`, silent, async () => sleep(100, addresses), MOST));
  }

  const stall = async () => {
    const socket = await openSocket(url);
    stack.defer(() => void socket.destroy());
    socket.write(
      `${requestHead('POST /api/upload', { 'Content-Length': '1000', 'Content-Type': 'application/octet-stream' })}x`,
    );
    return socket;
  };
  return { url, underWay, stall, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const total = (underWay: (() => number)[]) => underWay.reduce((sum, count) => sum + count(), 0);

describe.each(['local', 'remote'] as const)('with a service that is %s', (place) => {
  test.skipIf(process.platform !== 'linux')(
    'stalled transfers leave room for small requests and health; a further one is 503 at once, until one ends',
    async () => {
      await using gateway = await start(place);
      const stalled = [];
      for (let i = 0; i < 6; i++) stalled.push(await gateway.stall());
      await untilTrue(() => total(gateway.underWay) === 6);

      const began = performance.now();
      const refused = await fetch(`${gateway.url}/api/upload`, { method: 'POST', body: 'x' });
      expect([refused.status, await refused.json()]).toEqual([503, { error: 'Service unavailable' }]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(performance.now() - began).toBeLessThan(2_000);
      for (let i = 0; i < 5; i++) expect((await fetch(`${gateway.url}/api/exists/x`)).status).toBe(200);
      expect((await fetch(`${gateway.url}/api/health`)).status).toBe(200);

      stalled[0]?.destroy();
      await untilTrue(() => total(gateway.underWay) === 5);
      await gateway.stall();
      await untilTrue(() => total(gateway.underWay) === 6);
    },
  );
});

test.skipIf(process.platform !== 'linux')(
  'a replica that is full passes requests on to one that has room',
  async () => {
    await using gateway = await start('remote', 2);
    const sockets = [];
    for (let i = 0; i < 13; i++) sockets.push(await gateway.stall());
    await untilTrue(() => total(gateway.underWay) === 12);
    expect(gateway.underWay.map((count) => count())).toEqual([6, 6]);
    const last = sockets.at(-1);
    if (last) setTimeout(() => last.end(), 200);
    expect(last && (await received(last))).toMatch(/^HTTP\/1\.1 503 /);
    for (let i = 0; i < 10; i++) expect((await fetch(`${gateway.url}/api/exists/x`)).status).toBe(200);
  },
);
