import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { exchange, openSocket, received, requestHead, untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { type Place, silent, startGateway, upstreamTo } from './start-gateway.ts';

const patience = { idleMs: 1_000, headersMs: 500, checkEveryMs: 100 };

/** A service that counts the bytes of uploads and sends downloads of a megabyte a time; only its gateway is impatient. */
async function start(place: Place) {
  const stack = new AsyncDisposableStack();
  const service = createApp({ logger: silent });
  const seen = { begun: 0, ended: 0, broken: 0 };
  service.removeAllContentTypeParsers();
  service.addContentTypeParser('*', (_request, _payload, done) => done(null));
  service.post('/api/upload', async (request) => {
    let bytes = 0;
    seen.begun++;
    request.raw.once('error', () => seen.broken++);
    for await (const chunk of request.raw) bytes += (chunk as Buffer).length;
    seen.ended++;
    return { bytes };
  });
  service.get('/api/exists/:id', async () => ({ ok: true }));
  const upstream = await upstreamTo(stack, service, place);
  const { url } = stack.use(await startGateway(upstream, { patience }));
  return { url, seen, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe.each(['local', 'remote'] as const)('with a service that is %s', (place) => {
  test('an upload that is slow and active is not cut, however long it takes', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    const answer = received(socket);
    socket.write(
      requestHead('POST /api/upload', { 'Content-Length': '8', 'Content-Type': 'x/y', Connection: 'close' }),
    );
    for (let i = 0; i < 8; i++) {
      await sleep(400);
      socket.write('x');
    }
    expect(await answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"bytes":8\}$/); // 3.2 s, with 1 s of patience
  });

  test('an upload that stops moving is cut, and the service notices', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    const began = performance.now();
    socket.write(requestHead('POST /api/upload', { 'Content-Length': '800', 'Content-Type': 'x/y' }));
    socket.write('some');
    await received(socket);
    expect(performance.now() - began).toBeGreaterThan(900);
    expect(performance.now() - began).toBeLessThan(5_000);
    await untilTrue(() => gateway.seen.broken === 1);
    expect(gateway.seen).toEqual({ begun: 1, ended: 0, broken: 1 });
  });
});

describe('slow headers', () => {
  test.each([
    ['no byte at all', ''],
    ['half a request line', 'GET /api/exi'],
    ['headers without an end', 'GET /api/exists/x HTTP/1.1\r\nHost: x\r\nX-A: '],
  ])('%s: 408 and the end of the connection', async (_, bytes) => {
    await using gateway = await start('local');
    const socket = await openSocket(gateway.url);
    const began = performance.now();
    if (bytes) socket.write(bytes);
    const answer = await received(socket);
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*\{"error":"Request Timeout"\}$/);
  });

  test('a header that grows byte by byte has no more time than one that is silent', async () => {
    await using gateway = await start('local');
    const socket = await openSocket(gateway.url);
    const began = performance.now();
    socket.write('GET /api/exists/x HTTP/1.1\r\nHost: x\r\nX-A: ');
    const timer = setInterval(() => socket.write('a'), 50);
    const answer = await received(socket);
    clearInterval(timer);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  test('three hundred of them keep nobody waiting', async () => {
    await using gateway = await start('local');
    const sockets = await Promise.all(Array.from({ length: 300 }, () => openSocket(gateway.url)));
    for (const socket of sockets) socket.write('GET /api/exists/x HTTP/1.1\r\nX-A: ');
    const soon = AbortSignal.timeout(10_000);
    expect((await fetch(`${gateway.url}/api/exists/x`, { signal: soon })).status).toBe(200);
    await Promise.all(sockets.filter(({ closed }) => !closed).map((socket) => once(socket.resume(), 'close')));
  });
});

describe('sizes', () => {
  const statusOf = (answer: string) => answer.match(/^HTTP\/1\.1 (\d+)/)?.[1];

  test('all headers together may have 16 KiB: 431 above', async () => {
    await using gateway = await start('local');
    const ask = (size: number) =>
      exchange(gateway.url, requestHead('GET /api/exists/x', { 'X-A': 'a'.repeat(size), Connection: 'close' }));
    expect(statusOf(await ask(15_000))).toBe('200');
    const refused = await ask(17_000);
    expect(statusOf(refused)).toBe('431');
    expect(refused).toMatch(/\{"error":"Request Header Fields Too Large"\}$/);
    expect(statusOf(await exchange(gateway.url, `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(5_000)}\r\n`))).toBe('431');
  });

  test('so may an address', async () => {
    await using gateway = await start('local');
    const ask = (size: number) =>
      exchange(gateway.url, requestHead(`GET /api/exists/${'a'.repeat(size)}`, { Connection: 'close' }));
    expect(statusOf(await ask(15_000))).toBe('200');
    expect(statusOf(await ask(17_000))).toBe('431');
  });
});
