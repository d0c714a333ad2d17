import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { openSocket, received, requestHead } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { type Place, silent, startGateway, upstreamTo } from './start-gateway.ts';

const SLOW_MS = 3_000;

/** A gateway that loses patience after a second, before a service that is slower than that. */
async function start(place: Place, given: Record<string, string> = {}) {
  const stack = new AsyncDisposableStack();
  const service = createApp({ logger: silent });
  service.removeAllContentTypeParsers();
  service.addContentTypeParser('*', (_request, _payload, done) => done(null));
  service.post('/api/upload', { bodyLimit: 10_000_000 }, async (request) => {
    await sleep(SLOW_MS);
    let bytes = 0;
    for await (const chunk of request.raw) bytes += (chunk as Buffer).length;
    return { bytes };
  });
  service.get('/api/download/:id', async (_request, reply) => {
    const slowly = async function* () {
      yield 'first';
      await sleep(SLOW_MS);
      yield 'second';
    };
    return reply.send(Readable.from(slowly()));
  });
  const upstream = await upstreamTo(stack, service, place);
  const patience = { TRANSFER_RATE_WINDOW_SEC: '1', BODY_RATE_WINDOW_SEC: '1' };
  const { url } = stack.use(await startGateway(upstream, {}, { ...patience, ...given }));
  return { url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe.each(['local', 'remote'] as const)('with a service that is %s and slow', (place) => {
  test('the sender of a payload that nobody reads yet is not at fault', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    const size = 4_000_000; // more than fits on the way
    socket.write(
      requestHead('POST /api/upload', { 'Content-Length': `${size}`, 'Content-Type': 'x/y', Connection: 'close' }),
    );
    socket.write(Buffer.alloc(size));
    expect(await received(socket)).toMatch(new RegExp(`^HTTP/1\\.1 200 [\\s\\S]*{"bytes":${size}}$`));
  });

  test('the reader of an answer that does not come is not at fault', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    socket.write(requestHead('GET /api/download/x', { Connection: 'close' }));
    expect(await received(socket)).toContain('second');
  });

  test('nothing takes longer than the longest time', async () => {
    await using gateway = await start(place, { TRANSFER_MAX_SEC: '1' });
    const socket = await openSocket(gateway.url);
    const began = performance.now();
    socket.write(requestHead('GET /api/download/x', { Connection: 'close' }));
    expect(await received(socket)).not.toContain('second');
    expect(performance.now() - began).toBeLessThan(SLOW_MS);
  });
});
