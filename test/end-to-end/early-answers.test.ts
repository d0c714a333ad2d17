import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { freshFolder } from '@mayfly/testing/stores';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const run = promisify(execFile);
const SIZE = 50_000_000;
const TOO_LARGE = { error: 'File size exceeds maximum allowed size' };

const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false, // the tests that need it say so
);

const headers = (changes = {}) => uploadHeaders({ authToken: token(), ownerToken: token() }, changes);
const stream = () => Readable.from(Array.from({ length: SIZE / 1_000_000 }, () => Buffer.alloc(1_000_000)));

/** Clients that send a large body and may or may not look up while they do. */
const clients: Record<
  string,
  (url: string, headers: Record<string, string>) => Promise<{ status: number; body: string }>
> = {
  'fetch with a buffer': async (url, fields) => {
    const answer = await fetch(url, { method: 'POST', headers: fields, body: Buffer.alloc(SIZE) });
    return { status: answer.status, body: await answer.text() };
  },
  'fetch with a stream': async (url, fields) => {
    const init = {
      method: 'POST',
      headers: { ...fields, 'content-length': String(SIZE) },
      body: stream(),
      duplex: 'half',
    };
    const answer = await fetch(url, init as unknown as RequestInit); // the types know neither Readable nor duplex
    return { status: answer.status, body: await answer.text() };
  },
  undici: async (url, fields) => {
    const answer = await request(url, {
      method: 'POST',
      headers: { ...fields, 'content-length': String(SIZE) },
      body: stream(),
    });
    return { status: answer.statusCode, body: await answer.body.text() };
  },
  'node:http, all at once': async (url, fields) => {
    const sending = httpRequest(url, { method: 'POST', headers: { ...fields, 'content-length': SIZE } });
    sending.end(Buffer.alloc(SIZE));
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, body: await text(answer) };
  },
  'node:http, piece by piece': async (url, fields) => {
    const sending = httpRequest(url, { method: 'POST', headers: { ...fields, 'content-length': SIZE } });
    stream().pipe(sending);
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, body: await text(answer) };
  },
};

async function curl(url: string, fields: Record<string, string>, ...more: string[]) {
  await using folder = await freshFolder();
  const file = join(folder.path, 'body');
  await writeFile(file, Buffer.alloc(SIZE));
  const given = Object.entries(fields).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const args = ['-sS', '-m', '30', '-w', '\n%{http_code} %{size_upload}', '-X', 'POST', '--data-binary', `@${file}`];
  const { stdout } = await run('curl', [...args, ...given, ...more, url]);
  const [body = '', status, sent] = stdout.split(/\n| (?=\d+$)/);
  return { status: Number(status), body, sent: Number(sent) };
}

describeEachShape('early answers', { MAX_FILE_SIZE: '1000000', NOTE_MAX_SIZE: '100000' }, (service) => {
  const url = () => `${service.api.baseUrl}/api/upload`;

  describe('413 before the body is read, and the client sees it', () => {
    test.each(Object.keys(clients))('%s', async (name) => {
      const { status, body } = (await clients[name]?.(url(), headers())) ?? {};
      expect([status, JSON.parse(body ?? '')]).toEqual([413, TOO_LARGE]);
    });

    test.skipIf(!hasCurl)('curl, told to wait for 100-continue (needs curl, else skipped)', async () => {
      const { status, body, sent } = await curl(url(), headers(), '-H', 'Expect: 100-continue');
      expect([status, JSON.parse(body)]).toEqual([413, TOO_LARGE]);
      if (service.shape === 'all') expect(sent).toBe(0);
    });

    test.skipIf(!hasCurl)('curl, told not to wait (needs curl, else skipped)', async () => {
      const { status, body } = await curl(url(), headers(), '-H', 'Expect:');
      expect([status, JSON.parse(body)]).toEqual([413, TOO_LARGE]);
    });
  });

  test.skipIf(!hasCurl)('100-continue is given when the body is wanted (needs curl, else skipped)', async () => {
    await using folder = await freshFolder();
    const file = join(folder.path, 'body');
    await writeFile(file, Buffer.alloc(100_000));
    const given = Object.entries(headers()).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const args = [
      '-sS',
      '-m',
      '30',
      '--data-binary',
      `@${file}`,
      '-H',
      'Expect: 100-continue',
      '--expect100-timeout',
      '25',
    ];
    const { stdout } = await run('curl', [...args, ...given, url()]);
    expect(JSON.parse(stdout)).toMatchObject({ id: expect.any(String) });
  });

  test('400 is seen, too, by a client that is still sending', async () => {
    const answer = await clients['fetch with a stream']?.(url(), { ...headers({ 'X-Salt': 'short' }) });
    expect(answer?.status).toBe(413); // the size comes first
    const small = await call('POST', url(), { headers: headers({ 'X-Salt': 'short' }), body: Buffer.alloc(900_000) });
    expect(small.status).toBe(400);
  });

  test('the connection is usable after each error', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    const send = async (
      method: string,
      path: string,
      fields: Record<string, string | number>,
      body: Buffer | string,
    ) => {
      const sending = httpRequest(`${service.api.baseUrl}${path}`, { method, agent, headers: fields });
      sending.on('socket', (socket) => socket.once('connect', () => ports.add(socket.localPort)));
      sending.end(body);
      const [answer] = (await once(sending, 'response')) as [IncomingMessage];
      ports.add(answer.socket.localPort);
      return { status: answer.statusCode, body: await text(answer) };
    };
    const json = { 'content-type': 'application/json' };
    const statuses = [
      await send('POST', '/api/upload', { ...headers(), 'content-length': 3_000_000 }, Buffer.alloc(3_000_000)),
      await send(
        'POST',
        '/api/upload',
        { ...headers({ 'X-Salt': 'x' }), 'content-length': 900_000 },
        Buffer.alloc(900_000),
      ),
      await send('POST', '/api/note', json, '{broken'),
      await send('POST', '/api/note', json, JSON.stringify(noteBody({ encryptedContent: 'A'.repeat(4_000_000) }))),
      await send('GET', '/api/unknown', {}, ''),
      await send('GET', '/api/config', {}, ''),
    ].map(({ status }) => status);
    agent.destroy();
    expect(statuses).toEqual([413, 400, 400, 413, 404, 200]);
    expect(ports.size).toBe(1);
  });
});
