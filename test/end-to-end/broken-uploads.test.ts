import type { Socket } from 'node:net';
import { query } from '@mayfly/testing/stores';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { call, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

/** Sends the beginning of an upload over a bare socket and gives the socket. */
async function beginUpload(baseUrl: string, declared: number, sent: Buffer): Promise<Socket> {
  const socket = await openSocket(baseUrl);
  const tokens = { authToken: token(), ownerToken: token() };
  socket.write(requestHead('POST /api/upload', { 'Content-Length': String(declared), ...uploadHeaders(tokens) }));
  socket.write(sent);
  return socket;
}

describeEachShape('broken uploads', {}, (service) => {
  const rows = () => query(service.running.databaseUrl, 'select id::text, state from files.uploads');
  const blobs = () => service.running.blobs.names();
  const nothingIsLeft = async () => (await rows()).length === 0 && (await blobs()).length === 0;

  test('an upload in progress is unknown to every endpoint', async () => {
    const socket = await beginUpload(service.api.baseUrl, 1_000_000, Buffer.alloc(500_000));
    await untilTrue(async () => (await rows()).length === 1);
    const [{ id, state }] = (await rows()) as [{ id: string; state: string }];
    expect(state).toBe('pending');
    expect((await service.api.info(id)).status).toBe(404);
    expect((await service.api.exists(id)).body).toEqual({ exists: false });
    expect((await service.api.download(id, token())).status).toBe(404);
    expect((await service.api.checkPassword(id, token())).status).toBe(404);
    expect((await service.api.setMeta(id, token())).status).toBe(404);
    expect((await service.api.deleteUpload(id, token())).status).toBe(404);
    socket.destroy();
    await untilTrue(nothingIsLeft);
  });

  test('an aborted connection leaves nothing', async () => {
    const socket = await beginUpload(service.api.baseUrl, 10_000_000, Buffer.alloc(3_000_000));
    await untilTrue(async () => (await rows()).length === 1);
    socket.destroy();
    await untilTrue(nothingIsLeft);
  });

  test('fewer bytes than declared: 400 for whoever still listens, and nothing is stored', async () => {
    const socket = await beginUpload(service.api.baseUrl, 1_000, Buffer.alloc(999));
    socket.end(); // the sending side only
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"error":');
    await untilTrue(nothingIsLeft);
  });

  test('more bytes than declared: 400, and nothing is stored', { timeout: 120_000 }, async () => {
    for (let tries = 0; tries < 20; tries++) {
      const socket = await beginUpload(service.api.baseUrl, 1_000, Buffer.alloc(1_500, 'x'));
      let answer = '';
      for await (const chunk of socket) answer += chunk;
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    }
    // The store may have had all that was declared, and put it away late: it is deleted a minute later once more.
    await untilTrue(nothingIsLeft, 90_000);
  });

  test('without its blob folder the service answers 503, stores nothing, and goes on when it is back', async () => {
    const { blobs: store } = service.running;
    await store.away();
    const headers = uploadHeaders({ authToken: token(), ownerToken: token() });
    const answer = await service.api.upload(Buffer.alloc(5_000_000), headers);
    expect([answer.status, answer.body]).toEqual([503, { error: 'Service unavailable' }]);
    expect(await rows()).toEqual([]);
    await expect
      .poll(() => call('GET', `${service.api.baseUrl}/api/health`), { timeout: 5_000 })
      .toMatchObject({ status: 503, body: { status: 'degraded', components: { files: 'down' } } });
    await store.back();
    expect((await service.api.upload('now it works', headers)).status).toBe(200);
  });
});
