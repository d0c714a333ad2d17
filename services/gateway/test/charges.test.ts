import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { loadConfig } from '@mayfly/shared/config';
import { noteSettings, ownerSettings, requestSettings, uploadSettings } from '@mayfly/shared/settings';
import { exchange, openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { sealSettings } from '../src/settings.ts';
import { freshConnection, type Place, silent, startGateway, upstreamTo } from './start-gateway.ts';

const KiB = 1024;
const QUOTA = 10_000 * KiB;

/** A service that takes every body, thinks for a while and stores it; its gateway has a quota on a Redis of its own. */
async function start(place: Place, thinksMs = 0) {
  const stack = new AsyncDisposableStack();
  const service = createApp({ logger: silent });
  const seen = { stored: 0 };
  service.removeAllContentTypeParsers();
  service.addContentTypeParser('*', (_request, _payload, done) => done(null));
  for (const url of ['/api/upload', '/api/note', '/api/meta/:id', '/api/password/:id', '/api/note/:id/view']) {
    service.post(url, async (request) => {
      for await (const _ of request.raw) await sleep(0);
      await sleep(thinksMs);
      seen.stored++;
      return { ok: true };
    });
  }
  const upstream = await upstreamTo(stack, service, place);
  const redis = await freshConnection(stack);
  const limits = loadConfig(
    { ...uploadSettings, ...noteSettings, ...ownerSettings, ...requestSettings, ...sealSettings },
    { NOTE_MAX_SIZE: '100KiB' },
  );
  const { url } = stack.use(await startGateway(upstream, { redis, limits }, { UPLOAD_QUOTA_BYTES: String(QUOTA) }));
  const used = async () => {
    const [name] = await redis.keys('mayfly:quota:*');
    return name ? Number(await redis.get(name)) : 0;
  };
  const send = (path: string, body: string | ReadableStream) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'x/y' },
      body,
      ...(typeof body === 'string' ? {} : { duplex: 'half' }),
    } as RequestInit); // the types do not know duplex
  return { url, seen, used, send, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const HEAD = { 'Content-Type': 'x/y', 'Content-Length': '5000' };

describe.each(['local', 'remote'] as const)('with a service that is %s', (place) => {
  test.each(['/api/upload', '/api/note', '/api/meta/x'])('what %s stores is charged by its length', async (path) => {
    await using gateway = await start(place);
    expect((await gateway.send(path, 'x'.repeat(5_000))).status).toBe(200);
    expect(await gateway.used()).toBe(5_000);
  });

  test.each(['/api/note', '/api/meta/x'])('%s in chunks is charged as the largest that is taken', async (path) => {
    await using gateway = await start(place);
    const body = new Blob(['x'.repeat(5_000)]).stream();
    expect((await gateway.send(path, body)).status).toBe(200);
    expect(await gateway.used()).toBeGreaterThanOrEqual(140 * KiB); // 100 KiB in base64
    expect(await gateway.used()).toBeLessThanOrEqual(300 * KiB);
  });

  test('a client that leaves in the middle of its body gets its bytes back', async () => {
    await using gateway = await start(place);
    const socket = await openSocket(gateway.url);
    socket.write(`${requestHead('POST /api/upload', HEAD)}some`);
    await untilTrue(async () => (await gateway.used()) === 5_000);
    socket.destroy();
    await untilTrue(async () => (await gateway.used()) === 0);
  });

  test('one that leaves when all is sent does not: the service may have stored it', async () => {
    await using gateway = await start(place, 500);
    const socket = await openSocket(gateway.url);
    socket.write(requestHead('POST /api/upload', HEAD) + 'x'.repeat(5_000));
    await untilTrue(async () => (await gateway.used()) === 5_000);
    await sleep(200);
    socket.destroy();
    await sleep(700);
    // In this process the handler runs to its end; on the network it may be told in time.
    if (place === 'local') expect(gateway.seen.stored).toBe(1);
    expect(await gateway.used()).toBe(5_000);
  });

  test.each([
    ['/api/upload', 3 * 1024 * 1024 * KiB, 'File size exceeds maximum allowed size'],
    ['/api/note', 160 * KiB, 'Note content exceeds maximum size'],
    ['/api/meta/x', 257 * KiB, 'Payload Too Large'],
    ['/api/password/x', 5 * KiB, 'Payload Too Large'],
    ['/api/note/x/view', 5 * KiB, 'Payload Too Large'],
  ])(
    'a body of %s beyond its largest is refused here and not charged, whatever the service takes',
    async (path, length, error) => {
      await using gateway = await start(place);
      const head = { ...HEAD, 'Content-Length': String(length), Connection: 'close' };
      const answer = await exchange(gateway.url, requestHead(`POST ${path}`, head));
      expect(answer).toMatch(/^HTTP\/1\.1 413 /);
      expect(answer).toContain(JSON.stringify({ error }));
      expect(await gateway.used()).toBe(0);
      expect(gateway.seen.stored).toBe(0);
    },
  );

  test('a body in chunks is cut off beyond it, and nothing is stored or charged', async () => {
    await using gateway = await start(place);
    const answer = await gateway.send('/api/note', new Blob(['x'.repeat(400 * KiB)]).stream());
    expect([answer.status, await answer.json()]).toEqual([413, { error: 'Note content exceeds maximum size' }]);
    await untilTrue(async () => (await gateway.used()) === 0);
    await sleep(300);
    expect(gateway.seen.stored).toBe(0);
  });
});
