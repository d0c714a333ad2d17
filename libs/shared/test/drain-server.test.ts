import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@mayfly/local-stores/ports';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createApp } from '../src/app.ts';
import { drainServer } from '../src/drain-server.ts';

const logger = pino({ level: 'silent' });

/** A server with an answer that takes until the test says so. */
async function start() {
  const app = createApp({ logger });
  const release = Promise.withResolvers<void>();
  app.get('/quick', async () => ({ ok: true }));
  app.post('/note', async () => ({ ok: true }));
  app.get('/slow', async () => {
    await release.promise;
    return { ok: true };
  });
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
  return { app, ask, anew, release: release.resolve, [Symbol.asyncDispose]: () => app.close() };
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
  await sleep(100); // it is under way
  const drained = drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 60_000 }, logger);
  await expect.poll(() => server.anew('/quick').catch((error) => error.code)).toBe('ECONNREFUSED');
  server.release();
  expect((await slow).status).toBe(200);
  await drained;
});

test('what is not finished after DRAIN_GRACE_MS is cut off', async () => {
  await using server = await start();
  const slow = server.ask('/slow');
  const cut = expect(slow).rejects.toMatchObject({ code: 'ECONNRESET' });
  await sleep(100); // it is under way
  await drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 300 }, logger);
  await cut;
});

test('a grace of longer than timers can be is a long one, not none', async () => {
  await using server = await start();
  const slow = server.ask('/slow');
  await sleep(100); // it is under way
  const drained = drainServer(server.app, { DRAIN_MS: 0, DRAIN_GRACE_MS: 2 ** 40 }, logger);
  await sleep(200);
  server.release();
  expect((await slow).status).toBe(200);
  await drained;
});
