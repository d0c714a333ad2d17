import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@mayfly/local-stores/ports';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createApp } from '../src/app.ts';
import { drainServer } from '../src/drain-server.ts';

/** More than the system takes from a server whose client does not read. */
const LARGE_BYTES = 30_000_000;
const logger = pino({ level: 'silent' });

/** A server with an answer that takes until the test says so. */
async function start() {
  const app = createApp({ logger });
  const release = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  app.get('/quick', async () => ({ ok: true }));
  app.post('/note', async () => ({ ok: true }));
  app.get('/slow', async () => {
    entered.resolve();
    await release.promise;
    return { ok: true };
  });
  app.get('/large', async () => Buffer.alloc(LARGE_BYTES));
  const port = await freePort();
  await app.listen({ port, host: '127.0.0.1' });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (path: string, body?: string, from = agent) => {
    const request = httpRequest({ port, host: '127.0.0.1', path, agent: from, method: body ? 'POST' : 'GET' });
    if (body)
      request.setHeader('content-type', 'application/json').setHeader('content-length', Buffer.byteLength(body));
    request.end(body);
    const [answer] = await once(request, 'response');
    await answer.resume().toArray();
    return { status: answer.statusCode, connection: answer.headers.connection };
  };
  const anew = (path: string) => ask(path, undefined, new Agent({ keepAlive: false }));
  /** Once a slow request is under way. */
  const underWay = entered.promise;
  return { app, port, ask, anew, underWay, release: release.resolve, [Symbol.asyncDispose]: () => app.close() };
}

test('while it drains it serves, and every answer ends its connection', async () => {
  await using server = await start();
  expect(await server.ask('/quick')).toEqual({ status: 200, connection: 'keep-alive' });
  const drained = drainServer(server.app, { DRAIN_MS: 600, DRAIN_GRACE_MS: 60_000 }, logger);
  expect(await server.ask('/quick')).toEqual({ status: 200, connection: 'close' });
  expect(await server.ask('/note', '{}')).toEqual({ status: 200, connection: 'close' });
  await drained;
  await expect(server.ask('/quick')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a connection whose large body may still be on its way is not ended', async () => {
  await using server = await start();
  const drained = drainServer(server.app, { DRAIN_MS: 600, DRAIN_GRACE_MS: 60_000 }, logger);
  const large = JSON.stringify({ text: 'x'.repeat(100_000) });
  expect(await server.ask('/note', large)).toEqual({ status: 200, connection: 'keep-alive' });
  await drained;
});

test('new connections are refused after DRAIN_MS, and what runs finishes', async () => {
  await using server = await start();
  const slow = server.ask('/slow');
  await server.underWay;
  const drained = drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 60_000 }, logger);
  await expect.poll(() => server.anew('/quick').catch((error) => error.code)).toBe('ECONNREFUSED');
  server.release();
  expect((await slow).status).toBe(200);
  await drained;
});

test('a slow client gets the end of an answer that was ended before the server closed', async () => {
  await using server = await start();
  const socket = connect(server.port, '127.0.0.1');
  socket.write('GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await once(socket, 'readable'); // and reads no further
  await sleep(200);
  const drained = drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 60_000 }, logger);
  await sleep(500);
  let bytes = 0;
  for await (const chunk of socket) bytes += (chunk as Buffer).length;
  expect(bytes).toBeGreaterThan(LARGE_BYTES);
  await drained;
});

test('a connection that is idle is closed at once, a request that begins to arrive is waited for', async () => {
  await using server = await start();
  const idle = connect(server.port, '127.0.0.1');
  await once(idle, 'connect');
  const used = connect(server.port, '127.0.0.1');
  used.write('GET /quick HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await once(used, 'readable');
  used.write('GET /qui');
  await sleep(100);
  const ended = Promise.all([idle, used].map((socket) => once(socket, 'close')));
  const drained = drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 60_000 }, logger);
  idle.resume();
  await sleep(500);
  expect(idle.destroyed).toBe(true);
  used.write('ck HTTP/1.1\r\nhost: localhost\r\n\r\n');
  let text = '';
  for await (const chunk of used) text += chunk;
  expect(text.match(/HTTP\/1\.1 200 OK\r/g)?.length).toBe(2);
  await drained;
  await ended;
});

test('what is not finished after DRAIN_GRACE_MS is cut off', async () => {
  await using server = await start();
  const slow = server.ask('/slow');
  const cut = expect(slow).rejects.toMatchObject({ code: 'ECONNRESET' });
  await server.underWay;
  await drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 300 }, logger);
  await cut;
});

test('a grace of longer than timers can be is a long one, not none', async () => {
  await using server = await start();
  const slow = server.ask('/slow');
  await server.underWay;
  const drained = drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 2 ** 40 }, logger);
  await sleep(200);
  server.release();
  expect((await slow).status).toBe(200);
  await drained;
});
