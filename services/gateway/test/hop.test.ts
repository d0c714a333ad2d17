import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { exchange, openSocket, received, requestHead, untilTrue } from '@mayfly/testing/wire';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { remoteUpstream } from '../src/remote-upstream.ts';
import { fakeService } from './fake-service.ts';
import { silent, startGateway, upstreamTo } from './start-gateway.ts';

async function behindGateway(...given: Parameters<typeof fakeService>) {
  const stack = new AsyncDisposableStack();
  const service = stack.use(await fakeService(...given));
  const upstream = stack.use(remoteUpstream(service.url, silent));
  const { url } = stack.use(await startGateway(upstream));
  return { service, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Names and values of the first request that arrived. */
function fieldsOf(text = ''): Record<string, string> {
  const [, ...lines] = (text.split('\r\n\r\n', 1)[0] ?? '').split('\r\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
}

const TWO_IN_ONE = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

describe('what reaches a service', () => {
  test('neither hop-by-hop headers nor those named in Connection', async () => {
    await using hop = await behindGateway();
    const answer = await exchange(
      hop.url,
      requestHead('GET /api/exists/x', {
        Connection: 'close, X-Private , te',
        'X-Private': '1',
        'X-Kept': 'yes',
        'Keep-Alive': 'timeout=5',
        'Proxy-Connection': 'keep-alive',
        TE: 'trailers',
        Trailer: 'X-End',
        Upgrade: 'websocket',
      }),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    const fields = fieldsOf(hop.service.received[0]);
    expect(Object.keys(fields).sort()).toEqual(['connection', 'host', 'x-kept', 'x-mayfly-base-url', 'x-request-id']);
    expect(fields).toMatchObject({ connection: 'keep-alive', host: `127.0.0.1:${hop.service.port}`, 'x-kept': 'yes' });
  });

  test('internal headers are the gateway’s own, even when the sender declares them to be of its connection', async () => {
    await using hop = await behindGateway();
    await exchange(
      hop.url,
      requestHead('GET /api/exists/x', {
        Connection: 'close, x-mayfly-base-url, x-request-id',
        'X-Mayfly-Base-Url': 'https://evil.example',
        'X-Request-Id': 'chosen',
      }),
    );
    const fields = fieldsOf(hop.service.received[0]);
    expect(fields['x-mayfly-base-url']).toBe('https://public.example');
    expect(fields['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('the length of a body stays its length when the sender names it in Connection', async () => {
    await using hop = await behindGateway();
    const head = requestHead('POST /api/note', { Connection: 'close, content-length', 'Content-Length': '2' });
    await exchange(hop.url, `${head}{}`);
    expect(fieldsOf(hop.service.received[0])).toMatchObject({ 'content-length': '2' });
  });

  test('an answer’s hop-by-hop headers do not reach the client', async () => {
    await using hop = await behindGateway((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nConnection: X-Inner\r\nX-Inner: 1\r\nX-Outer: 2\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok',
      ),
    );
    const answer = await exchange(hop.url, requestHead('GET /api/exists/x', { Connection: 'close' }));
    expect(answer).toContain('X-Outer: 2'.toLowerCase());
    expect(answer).not.toMatch(/x-inner|timeout=1/i);
  });

  test.each([
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 40'],
    ['the same length twice', 'Content-Length: 40\r\nContent-Length: 40'],
    ['a list of lengths', 'Content-Length: 40, 40'],
    ['a signed length', 'Content-Length: +40'],
    ['a hexadecimal length', 'Content-Length: 0x28'],
    ['a length with a space before the colon', 'Content-Length : 40'],
    ['a length and chunks', 'Content-Length: 40\r\nTransfer-Encoding: chunked'],
    ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 40'],
    ['a coding with a space before the colon', 'Transfer-Encoding : chunked'],
    ['an unknown coding', 'Transfer-Encoding: xchunked'],
    ['chunked, but not last', 'Transfer-Encoding: chunked, identity'],
    ['a coding with a control character', 'Transfer-Encoding: \u000bchunked'],
    ['a coding over two lines', 'Transfer-Encoding:\r\n chunked'],
    ['two lines of codings', 'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked, x'],
  ])('neither a body that can be read in two ways nor a request hidden in it: %s', async (_, fields) => {
    await using hop = await behindGateway();
    // Many at once: what is refused while it is being handed on must not slip through.
    const bytes = `POST /api/note HTTP/1.1\r\nHost: x\r\n${fields}\r\n\r\n0\r\n\r\n${TWO_IN_ONE}`;
    const answers = await Promise.all(Array.from({ length: 40 }, () => exchange(hop.url, bytes)));
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 4/);
    await sleep(50);
    expect(hop.service.received.join('')).not.toMatch(/smuggled|POST/);
  });

  test('a chunked body passes as it is, and what follows it is another request', async () => {
    await using hop = await behindGateway((socket, all) => {
      if (all.endsWith('0\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
    const head = requestHead('POST /api/note', { 'Transfer-Encoding': 'chunked' });
    const answer = await exchange(hop.url, `${head}5\r\nhello\r\n0\r\n\r\n${TWO_IN_ONE}`);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
    expect(hop.service.received.join('')).toContain('hello');
    expect(hop.service.received.join('')).not.toContain('smuggled');
  });
});

describe('nothing is sent twice', () => {
  test('a connection that breaks before the answer: 502, one attempt', async () => {
    await using hop = await behindGateway((socket) => socket.resetAndDestroy());
    for (const [line, body] of [
      ['GET /api/download/x', ''],
      ['POST /api/note/x/view', '{}'],
      ['DELETE /api/note/x', ''],
    ] as const) {
      hop.service.received.length = 0;
      const head = requestHead(line, { Connection: 'close', ...(body ? { 'Content-Length': '2' } : {}) });
      const answer = await exchange(hop.url, head + body);
      expect(answer).toMatch(/^HTTP\/1\.1 502 /);
      expect(answer).toMatch(/\{"error":"Bad Gateway"\}$/);
      expect(hop.service.received).toHaveLength(1);
    }
  });

  test.each([500, 502, 503, 504, 429])('a service that answers %i is believed at once', async (status) => {
    const answered = `HTTP/1.1 ${status} No\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n`;
    await using hop = await behindGateway((socket) => void socket.write(answered));
    const answer = await exchange(hop.url, requestHead('GET /api/download/x', { Connection: 'close' }));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(hop.service.received).toHaveLength(1);
    expect(hop.service.received[0]?.match(/GET /g)).toHaveLength(1);
  });

  test('a kept connection that the service closes between two requests is not met', async () => {
    let requests = 0;
    await using hop = await behindGateway((socket) => {
      requests++;
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'); // without saying so
    });
    for (let i = 0; i < 20; i++) {
      const answer = await exchange(hop.url, requestHead('GET /api/exists/x', { Connection: 'close' }));
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    }
    expect(requests).toBe(20);
  });
});

describe('what breaks off', () => {
  test('an answer that ends early ends the client’s connection, whether its length was said or not', async () => {
    for (const bounds of ['content-length: 100', 'transfer-encoding: chunked']) {
      await using hop = await behindGateway((socket) => {
        const start = bounds.startsWith('t') ? '4\r\nbody\r\n' : 'body';
        socket.write(`HTTP/1.1 200 OK\r\n${bounds}\r\n\r\n${start}`, () =>
          setTimeout(() => socket.resetAndDestroy(), 50),
        );
      });
      const socket = await openSocket(hop.url);
      socket.write(requestHead('GET /api/download/x', {}));
      const answer = await received(socket);
      expect(answer).toContain('body');
      expect(answer).not.toMatch(/\r\n0\r\n\r\n$/);
    }
  });

  test('a client that leaves while the service thinks ends the request there', async () => {
    await using hop = await behindGateway(() => {});
    const socket = await openSocket(hop.url);
    socket.write(requestHead('GET /api/download/x', {}));
    await untilTrue(() => hop.service.connections.size === 1);
    socket.destroy();
    await untilTrue(() => hop.service.connections.size === 0);
  });

  test('a service that is away: 503 and Retry-After, one warning for many requests, and one line when it is back', async () => {
    const lines: { level: number; msg: string }[] = [];
    const logger = pino(
      new Writable({
        write(chunk, _encoding, done) {
          lines.push(JSON.parse(String(chunk)));
          done();
        },
      }),
    );
    const { port } = await (async () => {
      await using gone = await fakeService();
      return gone;
    })();
    await using upstream = remoteUpstream(`http://127.0.0.1:${port}`, logger);
    await using gateway = await startGateway(upstream);
    for (let i = 0; i < 10; i++) {
      const answer = await fetch(`${gateway.url}/api/exists/x`);
      expect([answer.status, await answer.json()]).toEqual([503, { error: 'Service unavailable' }]);
      expect(answer.headers.get('retry-after')).toBe('5');
    }
    expect(lines.map(({ msg }) => msg)).toEqual(['a service is away']);
    await using _ = await fakeService(undefined, '127.0.0.1', port);
    expect((await fetch(`${gateway.url}/api/exists/x`)).status).toBe(200);
    expect(lines.map(({ msg }) => msg)).toEqual(['a service is away', 'a service is back']);
  });
});

describe.each(['local', 'remote'] as const)('a service that is %s', (place) => {
  /** A service that tells which headers it got and reads a body. */
  async function start() {
    const stack = new AsyncDisposableStack();
    const service = createApp({ logger: silent });
    const acted: string[] = [];
    service.get('/api/download/:id', async () => ({ count: acted.push('counted') }));
    service.get('/api/exists/:id', async (request) => ({ id: request.id, headers: request.headers }));
    const upstream = await upstreamTo(stack, service, place);
    const { url } = stack.use(await startGateway(upstream));
    return { url, acted, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test('has the request id that the gateway tells the client, never one from outside', async () => {
    await using gateway = await start();
    const answer = await fetch(`${gateway.url}/api/exists/x`, { headers: { 'x-request-id': 'chosen' } });
    const { id } = (await answer.json()) as { id: string };
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers.get('x-request-id')).toBe(id);
  });

  test('does not act on a request whose body nobody can read', async () => {
    await using gateway = await start();
    for (const coding of ['xchunked', 'chunked, identity', 'gzip']) {
      const head = requestHead('GET /api/download/x', { 'Transfer-Encoding': coding, Connection: 'close' });
      expect(await exchange(gateway.url, `${head}0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
    }
    await sleep(50);
    expect(gateway.acted).toEqual([]);
    expect((await fetch(`${gateway.url}/api/download/x`)).status).toBe(200);
    expect(gateway.acted).toEqual(['counted']);
  });

  test('does not see headers named in Connection, and sees the gateway’s own', async () => {
    await using gateway = await start();
    const answer = await exchange(
      gateway.url,
      requestHead('GET /api/exists/x', { Connection: 'close, X-Private, X-Mayfly-Base-Url', 'X-Private': '1' }),
    );
    const { headers } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
    expect(headers['x-private']).toBeUndefined();
    expect(headers['x-mayfly-base-url']).toBe('https://public.example');
  });
});
