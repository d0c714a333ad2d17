import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { cutOff } from '@mayfly/shared/cut-off';
import { openSocket, received, requestHead, untilTrue } from '@mayfly/testing/wire';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { type Place, silent, startGateway, upstreamTo } from './start-gateway.ts';

const MiB = 1024 * 1024;
const DOWNLOAD = { route: '/api/download/:id', method: 'GET' };

/** A service whose downloads are endless, break off, or never begin; and the lines that its gateway writes. */
async function start(place: Place) {
  const stack = new AsyncDisposableStack();
  const service = createApp({ logger: silent });
  const seen = { begun: 0 };
  service.get('/api/download/:id', (request, reply) => {
    seen.begun++;
    reply.hijack();
    const { id } = request.params as { id: string };
    if (id === 'never') return;
    reply.raw.writeHead(200, { 'content-length': 500 * MiB });
    reply.raw.write(Buffer.alloc(MiB));
    if (id !== 'broken') return;
    cutOff(reply.raw.req.socket, 'store');
    setTimeout(() => reply.raw.destroy(), 100);
  });
  service.get('/api/exists/:id', async () => ({ ok: true }));
  const upstream = await upstreamTo(stack, service, place);
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const gateway = stack.use(await startGateway(upstream, { logger, patience: { idleMs: 1_500 } }));
  return {
    url: gateway.url,
    seen,
    /** The one line of the request, when it has been time for a second one. */
    line: async () => {
      await untilTrue(() => lines.some(({ msg }) => msg === 'request'));
      await sleep(200);
      const written = lines.filter(({ msg }) => msg === 'request');
      expect(written).toHaveLength(1);
      return written[0];
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe.each(['local', 'remote'] as const)('one line per request (%s)', (place) => {
  test('of one that was answered: its status, and that nobody cut it off', async () => {
    await using gateway = await start(place);
    expect((await fetch(`${gateway.url}/api/exists/x`)).status).toBe(200);
    const line = await gateway.line();
    expect(line).toMatchObject({ route: '/api/exists/:id', status: 200, durationMs: expect.any(Number) });
    expect(line).not.toHaveProperty('cutBy');
  });

  test('of one whose client left in the middle: its status, and that the client cut it off', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    socket.write(requestHead('GET /api/download/endless', {}));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    expect(await gateway.line()).toMatchObject({ ...DOWNLOAD, status: 200, cutBy: 'client' });
  });

  test('of one whose client left before the answer: no status', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    socket.write(requestHead('GET /api/download/never', {}));
    await untilTrue(() => gateway.seen.begun === 1);
    socket.destroy();
    const line = await gateway.line();
    expect(line).toMatchObject({ ...DOWNLOAD, cutBy: 'client' });
    expect(line).not.toHaveProperty('status');
  });

  test('of one that broke off behind the gateway', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    socket.write(requestHead('GET /api/download/broken', {}));
    await received(socket);
    const cutBy = place === 'local' ? 'store' : 'service';
    expect(await gateway.line()).toMatchObject({ ...DOWNLOAD, status: 200, cutBy });
  });

  test('of one that stood still for too long', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    socket.write(requestHead('GET /api/download/endless', {}));
    await received(socket);
    expect(await gateway.line()).toMatchObject({ ...DOWNLOAD, status: 200, cutBy: 'time limit' });
  });

  test('of one that is no good request', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    socket.write('GET /api/exists/x HTTP/1.1\r\nConnection: close\r\n\r\n'); // without Host
    await received(socket);
    expect(await gateway.line()).toMatchObject({ status: 400 });
  });
});
