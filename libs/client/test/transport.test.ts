import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { UPLOAD_INFO } from '@mayfly/testing/good-answers';
import { serve } from '@mayfly/testing/listen';
import { describe, expect, test } from 'vitest';
import { fetchTransport, MayflyClient, type Source } from '../src/index.ts';
import { nodeTransport } from '../src/node/index.ts';
import { encryptedSize } from '../src/size.ts';
import { collect, inPieces } from './bytes.ts';
import { patterned } from './reference.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const UPLOAD = { expireSec: 60, maxDownloads: 1 };

function source(content: Uint8Array): Source {
  return { name: 'a', size: content.length, stream: () => inPieces(content) };
}

describe.each([
  ['node', nodeTransport],
  ['fetch', fetchTransport],
] as const)('the %s transport', (_, buildTransport) => {
  const open = ({ url }: { url: string }) => new MayflyClient({ baseUrl: url, transport: buildTransport() });

  test('gives as many parts as it has under way a connection of their own', async () => {
    const transport = buildTransport();
    const { maxParallel = 4 } = transport;
    expect(maxParallel).toBe(buildTransport === nodeTransport ? 8 : 4);
    const waiting = new Map<unknown, ServerResponse>();
    await using server = await serve((request, response) => {
      waiting.set(request.socket, response);
      // None is answered before all have come, over connections that nothing else uses.
      if (waiting.size === maxParallel) for (const answer of waiting.values()) answer.end();
    });
    const send = () => transport.send({ method: 'POST', url: server.url, headers: {}, body: new Uint8Array(10_000) });
    const answers = await Promise.all(Array.from({ length: maxParallel }, send));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  test('sends an upload with its exact Content-Length, once', async () => {
    const seen: Record<string, unknown>[] = [];
    await using server = await serve((request, response) => {
      let sizeBytes = 0;
      request.on('data', (chunk: Buffer) => {
        sizeBytes += chunk.length;
      });
      request.on('end', () => {
        const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
        seen.push({ url: request.url, length, encoding, sizeBytes });
        response.end(JSON.stringify({ id: ID, url: `https://mayfly.example/d/${ID}` }));
      });
    });
    const { link } = await open(server).uploadFiles([source(patterned(200_000))], UPLOAD);
    expect(link).toMatch(`https://mayfly.example/d/${ID}#`);
    const size = encryptedSize(200_000);
    expect(seen[0]).toEqual({ url: '/api/upload', length: String(size), encoding: undefined, sizeBytes: size });
    expect(seen[1]).toMatchObject({ url: `/api/meta/${ID}`, encoding: undefined });
    expect(seen).toHaveLength(2);
  });

  test('deletes an upload whose metadata could not be stored', async () => {
    const seen: string[] = [];
    await using server = await serve((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      request.resume().on('end', () => {
        response.statusCode = request.url?.includes('/meta/') ? 503 : 200;
        response.setHeader('retry-after', '5');
        response.end(JSON.stringify({ id: ID, url: `https://mayfly.example/d/${ID}` }));
      });
    });
    const uploading = open(server).uploadFiles([source(patterned(10))], UPLOAD);
    await expect(uploading).rejects.toMatchObject({ code: 'unavailable', status: 503, retryAfterSec: 5 });
    expect(seen).toEqual(['POST /api/upload', `POST /api/meta/${ID}`, `DELETE /api/upload/${ID}`]);
  });

  test('takes an answer that comes before the end of an upload', async () => {
    await using server = await serve((request, response) => {
      response.writeHead(429, { 'retry-after': '7', connection: 'close' }).end('{"error":"Upload quota exceeded"}');
      setTimeout(() => request.destroy(), 300);
    });
    const uploading = open(server).uploadFiles([source(patterned(30_000_000))], UPLOAD);
    // A browser whose upload is cut may have lost the answer by then.
    await expect(uploading).rejects.toMatchObject({ code: expect.stringMatching(/rate-limited|network/) });
  });

  test.each([
    ['a proxy without its service', 502, '<html>', 'unavailable'],
    ['another kind of server', 200, '<html>', 'unavailable'],
    ['an answer of another shape', 200, '"text"', 'unavailable'],
    ['an unknown refusal', 418, '{}', 'invalid-request'],
    ['a full service', 507, '{"error":"Not enough storage space for this upload"}', 'service-full'],
    ['a failure', 500, '{"error":"Internal Server Error"}', 'unavailable'],
  ])('calls %s by its name', async (_, status, body, code) => {
    await using server = await serve((_, response) => response.writeHead(status).end(body));
    await expect(open(server).getConfig()).rejects.toMatchObject({ name: 'MayflyError', code });
  });

  test.each([{ salt: '' }, { salt: '!'.repeat(22) }, { encryptedMeta: '?', nonce: '' }])(
    'does not stumble over what is no base64: %j',
    async (change) => {
      const info = { ...UPLOAD_INFO, encryptedMeta: 'AAAA', nonce: 'AAAA', ...change };
      await using server = await serve((_, response) => response.end(JSON.stringify(info)));
      const link = `${server.url}/d/${ID}#${'A'.repeat(43)}`;
      await expect(open(server).getInfo(link)).rejects.toMatchObject({ name: 'MayflyError', code: 'tampered' });
    },
  );

  test('stops an upload whose source has stopped, when it is aborted', async () => {
    await using server = await serve((request) => void request.resume());
    const controller = new AbortController();
    const stalled: Source = { name: 'a', size: 10, stream: () => new ReadableStream() };
    const uploading = open(server).uploadFiles([stalled], { ...UPLOAD, signal: controller.signal });
    const failing = expect(uploading).rejects.toMatchObject({ code: 'aborted' });
    await sleep(50);
    controller.abort();
    await failing;
  });

  test('names a file that cannot be read', async () => {
    await using server = await serve((request) => void request.resume());
    const unreadable: Source = {
      name: 'a',
      size: 10,
      stream: () => new ReadableStream({ pull: () => Promise.reject(new Error('EACCES')) }),
    };
    const uploading = open(server).uploadFiles([unreadable], UPLOAD);
    await expect(uploading).rejects.toMatchObject({ code: 'bad-source', message: 'a cannot be read' });
  });
});

test('the node transport does not wait for ever, and says where a redirect leads', async () => {
  await using silent = await serve((request) => void request.resume());
  const waiting = new MayflyClient({ baseUrl: silent.url, transport: nodeTransport({ answerTimeoutMs: 100 }) });
  await expect(waiting.getConfig()).rejects.toMatchObject({ code: 'network' });
  await using moved = await serve((_, response) =>
    response.writeHead(308, { location: 'https://mayfly.example/' }).end(),
  );
  const client = new MayflyClient({ baseUrl: moved.url, transport: nodeTransport() });
  await expect(client.getConfig()).rejects.toMatchObject({ code: 'unavailable', message: /https:\/\/mayfly.example/ });
});

describe.each([
  ['node', nodeTransport],
  ['fetch', fetchTransport],
] as const)('a download through the %s transport', (_, buildTransport) => {
  test('that ends early is a network error, or tampered when the service says that this was all', async () => {
    let stored: Buffer = Buffer.alloc(0);
    let info = {};
    let isLengthTrue = true;
    await using server = await serve(async (request, response) => {
      if (request.url === '/api/upload') {
        stored = await collect(request as unknown as ReadableStream<Uint8Array>); // both can be iterated over
        info = { ...UPLOAD_INFO, salt: request.headers['x-salt'], size: stored.length, hasPassword: false };
        return response.end(JSON.stringify({ id: ID, url: `http://${request.headers.host}/d/${ID}` }));
      }
      if (request.url?.startsWith('/api/meta/')) {
        const body = await collect(request as unknown as ReadableStream<Uint8Array>); // likewise
        info = { ...info, ...JSON.parse(body.toString()) };
        return response.end('{}');
      }
      if (request.url?.startsWith('/api/info/')) return response.end(JSON.stringify(info));
      const half = stored.subarray(0, stored.length / 2);
      response.writeHead(200, { 'content-length': isLengthTrue ? stored.length : half.length });
      if (!isLengthTrue) return response.end(half);
      response.write(half, () => setTimeout(() => response.destroy(), 50));
    });
    const client = new MayflyClient({ baseUrl: server.url, transport: buildTransport() });
    const { link } = await client.uploadFiles([source(patterned(500_000))], UPLOAD);
    const cut = await client.download(link);
    await expect(collect(cut.payload)).rejects.toMatchObject({ code: 'network' });
    isLengthTrue = false;
    const short = await client.download(link);
    await expect(collect(short.payload)).rejects.toMatchObject({ code: 'tampered' });
  });
});
