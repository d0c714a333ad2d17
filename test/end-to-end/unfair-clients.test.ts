import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { peakMemoryBytes } from '@mayfly/testing/proc';
import { openSocket, received, requestHead, untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { type Answer, call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';

const GREEDY = '203.0.113.1';
const OTHER = '203.0.113.2';
const MIB = 1024 * 1024;

/** A request whose body stops before its end, and what comes back on its connection. */
async function held(url: string, line: string, headers: Record<string, string>, body: string | Buffer) {
  const socket = await openSocket(url);
  const one = { socket, answer: '' };
  socket.on('data', (text) => {
    one.answer += text;
  });
  socket.write(requestHead(line, headers));
  socket.write(body);
  return one;
}

async function inBatches<T>(count: number, start: (index: number) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  while (all.length < count) {
    const batch = Array.from({ length: Math.min(40, count - all.length) }, (_, nth) => start(all.length + nth));
    all.push(...(await Promise.all(batch)));
  }
  return all;
}

const oneByteOfMany = (url: string, client: string) =>
  held(
    url,
    'POST /api/upload',
    {
      ...uploadHeaders({ authToken: token(), ownerToken: token() }),
      'Content-Length': '1000',
      'X-Forwarded-For': client,
    },
    'x',
  );

/** What somebody else, or the same client later, gets from each kind of request. */
async function everything(service: ShapeUnderTest, client: string): Promise<Answer[]> {
  const { baseUrl } = service.api;
  const from = { 'x-forwarded-for': client };
  const tokens = { authToken: token(), ownerToken: token() };
  const note = noteBody();
  const upload = await call('POST', `${baseUrl}/api/upload`, {
    headers: { ...uploadHeaders(tokens), ...from },
    body: Buffer.alloc(100_000),
  });
  const created = await call('POST', `${baseUrl}/api/note`, { json: note, headers: from });
  return [
    upload,
    created,
    await call('GET', `${baseUrl}/api/info/${upload.body.id}`, { headers: from }),
    await call('GET', `${baseUrl}/api/exists/${upload.body.id}`, { headers: from }),
    await call('GET', `${baseUrl}/api/download/${upload.body.id}`, {
      headers: { 'x-auth-token': tokens.authToken, ...from },
    }),
    await call('POST', `${baseUrl}/api/note/${created.body.id}/view`, {
      json: { authToken: note.authToken },
      headers: from,
    }),
    await call('GET', `${baseUrl}/api/health`, { headers: from }),
  ];
}

const ALL_WELL = [200, 201, 200, 200, 200, 200, 200];
const statuses = (answers: Answer[]) => answers.map(({ status }) => status);

describeEachShape(
  'a client that wants everything',
  { TRUST_PROXY: '1', TRANSFER_RATE_WINDOW_SEC: '8', BODY_RATE_WINDOW_SEC: '15' },
  (service) => {
    test('with 400 uploads of one byte gets its share, the others all they want, and it is cut', async () => {
      const before = await service.running.blobs.names();
      const uploads = await inBatches(400, () => oneByteOfMany(service.api.baseUrl, GREEDY));
      const answered = (status: number) => uploads.filter(({ answer }) => answer.startsWith(`HTTP/1.1 ${status}`));
      const refused = () => answered(429);
      const cut = () => answered(408);
      // On a slow machine the first are cut before the last have come.
      await untilTrue(() => refused().length + cut().length >= 400 - 256, 20_000);
      expect(refused().length).toBeGreaterThan(0);
      expect(refused()[0]?.answer).toMatch(/retry-after: 1\r\n[\s\S]*{"error":"Too many requests"}$/i);
      expect(statuses(await everything(service, OTHER))).toEqual(ALL_WELL);

      await untilTrue(() => refused().length + cut().length === 400, 40_000);
      expect(cut()[0]?.answer).toMatch(/connection: close\r\n[\s\S]*{"error":"Request Timeout"}$/i);
      expect(statuses(await everything(service, GREEDY))).toEqual(ALL_WELL);
      // Only the two uploads of the lines above are left.
      await untilTrue(async () => (await service.running.blobs.names()).length === before.length + 2);
      for (const { socket } of uploads) socket.destroy();
    });

    test.concurrent('a sender at the least rate is not cut, whatever it takes', async () => {
      const size = 6 * 4096;
      const headers = uploadHeaders({ authToken: token(), ownerToken: token() });
      const socket = await openSocket(service.api.baseUrl);
      const answer = received(socket);
      socket.write(requestHead('POST /api/upload', { ...headers, 'Content-Length': `${size}`, Connection: 'close' }));
      for (let sent = 0; sent < size; sent += 4096) {
        await sleep(2_000);
        socket.write(Buffer.alloc(4096));
      }
      expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    });

    test.concurrent('who reads nothing of a download is cut', async () => {
      const upload = await service.api.newUpload({}, Buffer.alloc(24 * MIB));
      const socket = await openSocket(service.api.baseUrl);
      socket.write(requestHead(`GET /api/download/${upload.id}`, { 'X-Auth-Token': upload.authToken }));
      await once(socket, 'readable');
      await untilTrue(
        async () => service.running.blobs.openIn(service.running.processes.map(({ child }) => child.pid)) === 0,
        40_000,
      );
      socket.resume();
      await untilTrue(() => socket.closed);
    });

    test('pipelined requests that were left are given back', async () => {
      const line = requestHead('GET /api/config', { 'X-Forwarded-For': GREEDY });
      await inBatches(100, async () => {
        const socket = await openSocket(service.api.baseUrl);
        socket.write(line.repeat(5));
        await once(socket, 'readable');
        socket.destroy();
      });
      await untilTrue(async () => {
        const answers = await inBatches(250, () =>
          call('GET', `${service.api.baseUrl}/api/config`, { headers: { 'x-forwarded-for': GREEDY } }),
        );
        return answers.every(({ status }) => status === 200);
      });
    });

    test('with 200 notes that lack one byte takes little of it, and others store theirs', async () => {
      const body = JSON.stringify(noteBody({ encryptedContent: Buffer.alloc(MIB).toString('base64') }));
      const bodies: { socket: Socket; answer: string }[] = await inBatches(200, () =>
        held(
          service.api.baseUrl,
          'POST /api/note',
          {
            'Content-Type': 'application/json',
            'Content-Length': String(body.length),
            'X-Forwarded-For': GREEDY,
          },
          body.slice(0, -1),
        ),
      );
      expect(statuses(await everything(service, OTHER))).toEqual(ALL_WELL);
      const answered = (status: number) => bodies.filter(({ answer }) => answer.startsWith(`HTTP/1.1 ${status}`));
      await untilTrue(() => answered(429).length > 100, 40_000);
      expect(answered(429)[0]?.answer).toMatch(/retry-after: 1\r\n/i);
      const [first] = service.running.processes.filter(({ name }) => name === 'notes' || name === 'all');
      expect(peakMemoryBytes(first?.child.pid) / MIB).toBeLessThan(280);
      for (const { socket } of bodies) socket.destroy();
      expect(statuses(await everything(service, GREEDY))).toEqual(ALL_WELL);
    });

    test('who sends 24 of the largest notes at once has them all stored', async () => {
      const json = noteBody({ encryptedContent: Buffer.alloc(MIB).toString('base64') });
      const answers = await Promise.all(Array.from({ length: 24 }, () => service.api.createNote(json)));
      expect(new Set(statuses(answers))).toEqual(new Set([201]));
    });

    test.each([
      ['POST', '/api/password/', ''],
      ['POST', '/api/note/', '/view'],
      ['POST', '/api/note/', '/password'],
      ['DELETE', '/api/upload/', ''],
      ['DELETE', '/api/note/', ''],
    ] as const)('413: more than 4 KiB for a token: %s %s:id%s', async (method, path, end) => {
      const id = '00000000-0000-4000-8000-000000000000';
      const json = (size: number) => ({ body: JSON.stringify({ authToken: 'x' }).padEnd(size) });
      const headers = { 'content-type': 'application/json' };
      const send = (size: number) =>
        call(method, `${service.api.baseUrl}${path}${id}${end}`, { headers, ...json(size) });
      expect((await send(4096)).status).toBe(404);
      const tooLarge = await send(4097);
      expect([tooLarge.status, tooLarge.body]).toEqual([413, { error: 'Payload Too Large' }]);
    });
  },
);
