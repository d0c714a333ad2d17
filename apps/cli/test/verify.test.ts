import { createHash } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { listen } from '@mayfly/testing/listen';
import { describe, expect, test } from 'vitest';
import { verifyServer } from '../src/verify/verify-server.ts';

// What a server may do that is none: it is told of, in time, and costs next to nothing.

const DOCUMENT = '<!doctype html><title>t</title>';
const SCRIPT = 'console.log(1)';
const HEADERS = { 'content-security-policy': "default-src 'none'" };
const factsOf = (text: string, type: string) => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  bytes: text.length,
  type,
});
const release = {
  version: '1.2.3',
  pages: ['/', '/d/:id'],
  files: { '/': factsOf(DOCUMENT, 'text/html'), '/a.js': factsOf(SCRIPT, 'text/javascript') },
  wasm: [],
  headers: HEADERS,
};
const text = JSON.stringify(release);
const named = { release, id: factsOf(text, '').sha256, bytes: text.length };
/** Long enough for a busy machine; nothing waits for it where a server says something. */
const PATIENCE = { requestMs: 60_000, totalMs: 120_000 };
/** For a server that leaves somebody waiting. */
const SHORT = { ...PATIENCE, requestMs: 4_000 };
const never = new AbortController().signal;

const head = (status: number, headers: Record<string, string | number>) =>
  [`HTTP/1.1 ${status} x`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');

function goodAnswer(path: string): string {
  const isPage = path === '/' || path.startsWith('/d/');
  const [status, type, body] =
    path === '/a.js'
      ? [200, 'text/javascript', SCRIPT]
      : path === '/release.json'
        ? [200, 'application/json; charset=utf-8', text]
        : [isPage ? 200 : 404, 'text/html', DOCUMENT];
  return `${head(status, { ...HEADERS, 'content-type': type, 'content-length': body.length })}${body}`;
}

/** A server that does as it should but for its script. */
async function hostile(script: (socket: Socket, written: (text: string | Buffer) => boolean) => void) {
  let sentBytes = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // whoever verifies has had enough
    socket.on('data', (data) => {
      const [, path = ''] = /^GET (\S+)/.exec(String(data)) ?? [];
      const write = (bytes: string | Buffer) => {
        sentBytes += bytes.length;
        return socket.write(bytes);
      };
      if (path === '/a.js') script(socket, write);
      else socket.write(goodAnswer(path));
    });
  });
  const { url } = await listen(server);
  return {
    url,
    sentBytes: () => sentBytes,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Writes for as long as the other side listens, faster than it reads only as far as the connection holds it. */
function pour(socket: Socket, next: () => string | Buffer, write: (bytes: string | Buffer) => boolean) {
  const on = () => {
    while (!socket.destroyed && write(next()));
  };
  socket.on('drain', on);
  on();
}

/** Each letter takes a time that one answer alone may take. */
function drip(socket: Socket, begin: string) {
  socket.write(begin);
  const timer = setInterval(() => socket.write('a'), 1_000);
  socket.on('close', () => clearInterval(timer));
}

const whole = head(200, { ...HEADERS, 'content-type': 'text/javascript', 'content-length': SCRIPT.length });
const open = (headers: Record<string, string> = {}) =>
  head(200, { ...HEADERS, 'content-type': 'text/javascript', 'transfer-encoding': 'chunked', ...headers });
const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
const FILLER = chunk(Buffer.alloc(16_384, 'x'));
/** 64 MiB in 64 kB. */
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));

const CASES: Record<string, { script: Parameters<typeof hostile>[0]; problem: RegExp }> = {
  'never answers': { script: () => {}, problem: /^takes longer than 4 s$/ },
  'answers letter by letter': { script: (socket) => drip(socket, whole), problem: /^takes longer than 4 s$/ },
  'writes headers letter by letter': {
    script: (socket) => drip(socket, 'HTTP/1.1 200 x\r\nA: '),
    problem: /^takes longer than 4 s$/,
  },
  'has endless headers': {
    script: (socket, write) => {
      write('HTTP/1.1 200 x\r\n');
      pour(socket, () => `a: ${'x'.repeat(1_000)}\r\n`, write);
    },
    problem: /^has endless headers$/,
  },
  'has an endless script': {
    script: (socket, write) => {
      write(open());
      pour(socket, () => FILLER, write);
    },
    problem: /^is longer than 14 bytes$/,
  },
  'sends a bomb of compression': {
    script: (_, write) => {
      write(open({ 'content-encoding': 'gzip' }));
      write(chunk(BOMB));
    },
    problem: /^is longer than 14 bytes$/,
  },
  'packs a bomb into another': {
    script: (_, write) => {
      write(open({ 'content-encoding': 'gzip, gzip' }));
      write(chunk(gzipSync(BOMB)));
    },
    problem: /^is encoded in a way that was not asked for$/,
  },
  'sends compressed bytes that are none': {
    script: (_, write) => {
      write(open({ 'content-encoding': 'br' }));
      write(Buffer.concat([chunk(Buffer.from('no brotli')), Buffer.from('0\r\n\r\n')]));
    },
    problem: /^cannot be had/,
  },
  'answers 100 without an end': {
    script: (socket, write) => pour(socket, () => 'HTTP/1.1 100 Continue\r\n\r\n', write),
    problem: /^sends answers without an end$/,
  },
  'sends early hints': {
    script: (socket) => socket.write(`${head(103, { link: '</b.js>; rel=preload; as=script' })}${goodAnswer('/a.js')}`),
    problem: /^sends early hints$/,
  },
  'leads elsewhere': {
    script: (socket) => socket.write(head(307, { location: '/a.js', 'content-length': 0 })),
    problem: /^answers 307 instead of 200, and leads to "\/a.js"$/,
  },
  'switches to another protocol': {
    script: (socket) => socket.write(head(101, { connection: 'Upgrade', upgrade: 'x' })),
    problem: /^(cannot be had|takes longer)/,
  },
  'breaks off': {
    script: (socket) => socket.end(`${whole}cons`),
    problem: /^cannot be had/,
  },
  'speaks no HTTP': { script: (socket) => socket.end('hello\r\n'), problem: /^cannot be had/ },
  'says a header twice': {
    script: (socket) =>
      socket.write(goodAnswer('/a.js').replace('\r\n', "\r\ncontent-security-policy: script-src 'unsafe-inline'\r\n")),
    problem: /^header content-security-policy: "script-src 'unsafe-inline', default-src 'none'" instead of/,
  },
};

describe('mayfly verify, on a server that', () => {
  test('does as it should, finds nothing', async () => {
    await using server = await hostile((socket) => socket.write(goodAnswer('/a.js')));
    expect(await verifyServer(server.url, named, never, PATIENCE)).toEqual({ checked: 10, differences: [] });
  });

  test.each(Object.entries(CASES))('%s, says so of the script and of nothing else', async (_, { script, problem }) => {
    await using server = await hostile(script);
    const isSlow = problem.source.includes('takes longer');
    const { differences } = await verifyServer(server.url, named, never, isSlow ? SHORT : PATIENCE);
    expect(differences).toEqual(
      ['Chrome', 'Firefox'].map((browser) => ({ path: '/a.js', browser, problem: expect.stringMatching(problem) })),
    );
    // What two connections hold, and no more.
    expect(server.sentBytes()).toBeLessThan(64 * 1024 * 1024);
  });

  test('takes all the time that there is, ends then', async () => {
    await using server = await hostile(() => {});
    const { differences } = await verifyServer(server.url, named, never, { requestMs: 60_000, totalMs: 500 });
    expect(differences.map(({ problem }) => problem)).toEqual(Array(2).fill('not checked: time is over'));
  });

  test('is not there, or is left, ends with that error', async () => {
    await expect(verifyServer('http://127.0.0.1:9', named, never, PATIENCE)).rejects.toMatchObject({ code: 'network' });
    await using server = await hostile(() => {});
    const leaving = AbortSignal.timeout(300);
    await expect(verifyServer(server.url, named, leaving, PATIENCE)).rejects.toMatchObject({ code: 'aborted' });
  });
});
