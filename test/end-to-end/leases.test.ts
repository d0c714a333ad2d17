import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilHealthy } from '@mayfly/launcher/service';
import { untilReady } from '@mayfly/testing/shapes';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { type Answer, type Api, call, token, unknownId } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const MIB = 2 ** 20;
type Item = { id: string; authToken: string; ownerToken: string; payload: Buffer };

/** GET /api/lease/<id>, and DELETE. */
const lease = (api: Api, { id, authToken }: Pick<Item, 'id' | 'authToken'>, name: string, headers = {}) =>
  call('GET', `${api.baseUrl}/api/lease/${id}`, {
    headers: { 'x-auth-token': authToken, 'x-download-lease': name, ...headers },
  });
const end = (api: Api, { id, authToken }: Item, name: string) =>
  call('DELETE', `${api.baseUrl}/api/lease/${id}`, {
    headers: { 'x-auth-token': authToken, 'x-download-lease': name },
  });
const infoFor = (api: Api, { id }: Pick<Item, 'id'>, name: string) =>
  call('GET', `${api.baseUrl}/api/lease/${id}/info`, { headers: { 'x-download-lease': name } });
const bytesOf = ({ body }: Answer) => body.bytes as Buffer;

/**
 * The end of a range is recorded a moment after its last byte, and until then another one may be let through, or be told to come again.
 * Asks after ever longer pauses until the answer is 410, and says how many came before it; fails when ten have.
 */
async function grantedUntilEnded(ask: () => Promise<Answer>) {
  for (let granted = 0; granted < 10; granted++) {
    const { status, body } = await ask();
    if (status === 410) {
      expect(body).toEqual({ error: 'Download lease has ended' });
      return granted;
    }
    await sleep(20 * 2 ** granted);
  }
  throw new Error('the lease goes on and on');
}

/** As a recipient does who is told that too many ranges are under way. */
async function onceThereIsRoom<A extends { status: number }>(ask: () => Promise<A>) {
  for (let asked = 0; ; asked++) {
    const answer = await ask();
    if (answer.status !== 429 || asked === 10) return answer;
    await sleep(20 * 2 ** asked);
  }
}

/** Reads so many bytes from `first` on, and breaks the connection. */
async function cutAfter(baseUrl: string, { id, authToken }: Item, name: string, first: number, bytes: number) {
  const socket = await openSocket(baseUrl);
  const range = `bytes=${first}-`;
  const head = { 'X-Auth-Token': authToken, 'X-Download-Lease': name, Range: range };
  socket.write(requestHead(`GET /api/lease/${id}`, head));
  let got = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    got = Buffer.concat([got, chunk]);
    const body = got.indexOf('\r\n\r\n') + 4;
    const status = Number(got.subarray(9, 12).toString());
    if (body < 4 || (status === 206 && got.length - body < bytes)) continue;
    return { status, body: got.subarray(body, body + bytes) }; // which destroys the socket
  }
  throw new Error('the connection ended early');
}

describeEachShape('downloads under a lease', {}, (service) => {
  const other = () => service.replicas.at(-1) ?? service.api;
  const countOf = async (id: string) => (await service.api.info(id)).body.downloadCount;
  const isStored = async (id: string) => (await service.running.blobs.names()).some((name) => name.includes(id));

  test('the whole and ranges of it, on any replica, are one download', async () => {
    const item = await service.api.newUpload({}, randomBytes(300_000));
    const name = token();
    const whole = await lease(service.api, item, name);
    expect([whole.status, bytesOf(whole).equals(item.payload)]).toEqual([200, true]);
    expect(whole.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '300000',
      'accept-ranges': 'bytes',
      'cache-control': 'no-store',
      etag: `"${item.id}"`,
      'x-file-count': '1',
    });
    const range = await lease(other(), item, name, { range: 'bytes=1000-1999' });
    expect(range.status).toBe(206);
    expect(range.headers).toMatchObject({ 'content-length': '1000', 'content-range': 'bytes 1000-1999/300000' });
    expect(bytesOf(range).equals(item.payload.subarray(1000, 2000))).toBe(true);
    const rest = await lease(service.api, item, name, { range: 'bytes=299990-' });
    expect(bytesOf(rest).equals(item.payload.subarray(299_990))).toBe(true);
    const last = await lease(service.api, item, name, { range: 'bytes=-5' });
    expect(bytesOf(last).equals(item.payload.subarray(-5))).toBe(true);
    expect(await countOf(item.id)).toBe(1);
  });

  describe('GET /api/lease/<id>', () => {
    test('400, 401, 404, 416: what cannot be asked for is said, and counts nothing', async () => {
      const item = await service.api.newUpload();
      const { api } = service;
      const status = async (answer: Promise<Answer>) => [(await answer).status, (await answer).body];
      const invalid = (details: object) => [400, { error: 'Invalid request', details }];
      const noLease = invalid({ 'X-Download-Lease': ['must be base64url of 32 bytes'] });
      expect(await status(lease(api, item, 'short'))).toEqual(noLease);
      expect(await status(lease(api, item, token(), { range: 'bytes=0-1,5-6' }))).toEqual(
        invalid({ Range: ['must be one range of bytes'] }),
      );
      const outside = await lease(api, item, token(), { range: 'bytes=1000-' });
      expect([outside.status, outside.headers['content-range']]).toEqual([416, 'bytes */1000']);
      const wrong = { ...item, authToken: token() };
      expect(await status(lease(api, wrong, token()))).toEqual([401, { error: 'Invalid or missing auth token' }]);
      expect((await lease(api, { ...item, id: unknownId }, token())).status).toBe(404);
      expect(await countOf(item.id)).toBe(0);
      expect((await lease(api, item, token(), { range: 'lines=1-2' })).status).toBe(200); // no unit that it knows
    });
  });

  describe('GET /api/lease/<id>/info', () => {
    test('200: what info says, also when the upload is used up by then; it counts nothing', async () => {
      const item = await service.api.newUpload({ 'X-Max-Downloads': '1' });
      const before = (await service.api.info(item.id)).body;
      const name = token();
      await lease(service.api, item, name, { range: 'bytes=0-9' });
      expect((await service.api.info(item.id)).status).toBe(410);
      const answer = await infoFor(other(), item, name);
      expect([answer.status, answer.body]).toEqual([200, { ...before, downloadCount: 1 }]);
    });

    test('400, 404, 410: what cannot be told', async () => {
      const item = await service.api.newUpload();
      const ended = [410, { error: 'Download lease has ended' }];
      const status = async (answer: Promise<Answer>) => [(await answer).status, (await answer).body];
      expect(await status(infoFor(service.api, item, token()))).toEqual(ended); // there was none
      expect((await infoFor(service.api, item, 'short')).status).toBe(400);
      expect((await infoFor(service.api, { ...item, id: unknownId }, token())).status).toBe(404);
      const name = token();
      await lease(service.api, item, name);
      expect((await infoFor(other(), item, name)).status).toBe(200);
      await end(service.api, item, name);
      expect(await status(infoFor(other(), item, name))).toEqual(ended);
      expect(await countOf(item.id)).toBe(1);
    });
  });

  describe('DELETE /api/lease/<id>', () => {
    test('200, also for a lease that is none; 400, 401, 404', async () => {
      const item = await service.api.newUpload();
      expect((await end(service.api, item, token())).body).toEqual({ ok: true });
      expect((await end(service.api, item, 'short')).status).toBe(400);
      expect((await end(service.api, { ...item, authToken: token() }, token())).status).toBe(401);
      expect((await end(service.api, { ...item, id: unknownId }, token())).status).toBe(404);
    });
  });

  test('of 200 at once, leases and plain downloads mixed, exactly as many succeed as are left', async () => {
    const item = await service.api.newUpload({ 'X-Max-Downloads': '5' }, Buffer.alloc(200_000, 1));
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const api = service.replicas[index % service.replicas.length] ?? service.api;
        return index % 4 < 2 ? lease(api, item, token()) : api.download(item.id, item.authToken);
      }),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(195);
  });

  test('a third full read is refused', { timeout: 120_000 }, async () => {
    const item = await service.api.newUpload({}, randomBytes(100_000));
    const name = token();
    for (let read = 0; read < 2; read++) expect((await lease(service.api, item, name)).status).toBe(200);
    await grantedUntilEnded(() => lease(other(), item, name));
    expect((await lease(service.api, item, name)).status).toBe(410); // for good
    expect(await countOf(item.id)).toBe(1);
  });

  test('whoever goes on with a lease that has ended opens no other one', async () => {
    const item = await service.api.newUpload({}, randomBytes(100_000));
    const name = token();
    const goOn = () => lease(other(), item, name, { range: 'bytes=10-', 'x-download-continues': 'true' });
    const ended = { error: 'Download lease has ended' };
    expect([(await goOn()).status, (await goOn()).body]).toEqual([410, ended]);
    expect(await countOf(item.id)).toBe(0);
    await lease(service.api, item, name, { range: 'bytes=0-9' });
    const rest = await goOn();
    expect([rest.status, bytesOf(rest).equals(item.payload.subarray(10))]).toEqual([206, true]);
    await end(service.api, item, name);
    expect([(await goOn()).status, (await goOn()).body]).toEqual([410, ended]);
    expect(await countOf(item.id)).toBe(1);
  });

  test('two copies in pieces, some of them twice, are granted; nearly a third one is not', {
    timeout: 120_000,
  }, async () => {
    const item = await service.api.newUpload({}, randomBytes(1_000_000));
    const name = token();
    const read = (first: number, bytes: number) => () =>
      lease(service.api, item, name, { range: `bytes=${first}-${first + bytes - 1}` });
    const granted = async (first: number, bytes: number) =>
      expect((await onceThereIsRoom(read(first, bytes))).status).toBe(206);
    for (let copy = 0; copy < 2; copy++) {
      for (let first = 0; first < 1_000_000; first += 100_000) {
        await granted(first, 8);
        await granted(first, 100_000);
      }
    }
    for (let first = 0; first < 400_000; first += 100_000) await granted(first, 100_000);
    await grantedUntilEnded(read(400_000, 100_000));
    expect((await read(900_000, 100_000)()).status).toBe(410);
  });

  // Of the small one everything is in the buffers on the way before anything is cut.
  test.each([24 * MIB, 400_000])(
    '%i bytes, cut anywhere fifty times, are whole, and one download',
    { timeout: 120_000 },
    async (size) => {
      const item = await service.api.newUpload({}, randomBytes(size));
      const name = token();
      const chunks: Buffer[] = [];
      let read = 0;
      for (let cut = 0; cut < 50; cut++) {
        const { baseUrl } = service.replicas[cut % service.replicas.length] ?? service.api;
        const wanted = randomInt(1, Math.floor((item.payload.length - read) / (51 - cut)));
        const { status, body } = await onceThereIsRoom(() => cutAfter(baseUrl, item, name, read, wanted));
        expect(status).toBe(206);
        chunks.push(body);
        read += wanted;
      }
      const rest = await onceThereIsRoom(() => lease(service.api, item, name, { range: `bytes=${read}-` }));
      expect(rest.status).toBe(206);
      expect(Buffer.concat([...chunks, bytesOf(rest)]).equals(item.payload)).toBe(true);
      expect(await countOf(item.id)).toBe(1);
    },
  );

  test('the last one keeps the payload until its recipient has all of it, for nobody else', async () => {
    const item = await service.api.newUpload({ 'X-Max-Downloads': '1' }, randomBytes(100_000));
    const name = token();
    expect((await lease(service.api, item, name, { range: 'bytes=0-9999' })).status).toBe(206);
    expect((await service.api.exists(item.id)).body).toEqual({ exists: false, reason: 'limit_reached' });
    expect((await lease(service.api, item, token())).status).toBe(410);
    expect((await service.api.download(item.id, item.authToken)).status).toBe(410);
    await new Promise((resolve) => setTimeout(resolve, 2_500)); // two sweeps
    const rest = await lease(other(), item, name, { range: 'bytes=10000-' });
    expect([rest.status, bytesOf(rest).equals(item.payload.subarray(10_000))]).toEqual([206, true]);
    expect((await lease(other(), { ...item, authToken: token() }, name)).status).toBe(401);
    expect((await end(other(), item, name)).body).toEqual({ ok: true });
    await untilTrue(async () => !(await isStored(item.id)));
    expect((await lease(other(), item, name)).status).toBe(410);
    expect((await end(other(), item, name)).status).toBe(410);
  });

  test('after the last plain download the payload goes with the first sweep', async () => {
    const item = await service.api.newUpload({ 'X-Max-Downloads': '1' });
    expect((await service.api.download(item.id, item.authToken)).status).toBe(200);
    await untilTrue(async () => !(await isStored(item.id)));
  });

  test('an upload that expires meanwhile can be read to its end, and its owner’s delete ends that', async () => {
    const item = await service.api.newUpload({}, randomBytes(100_000));
    const name = token();
    expect((await lease(service.api, item, name, { range: 'bytes=0-9' })).status).toBe(206);
    const soon = await call('POST', `${service.api.baseUrl}/api/own/upload/${item.id}/terms`, {
      headers: { 'x-owner-token': item.ownerToken },
      json: { expireSec: 1 },
    });
    expect(soon.status).toBe(200);
    await untilTrue(async () => (await service.api.exists(item.id)).body.exists === false);
    expect((await lease(service.api, item, token())).status).toBe(410);
    expect((await lease(other(), item, name, { range: 'bytes=10-' })).status).toBe(206);
    expect((await service.api.deleteUpload(item.id, item.ownerToken)).status).toBe(200);
    expect((await lease(service.api, item, name)).status).toBe(404);
    await untilTrue(async () => !(await isStored(item.id)));
  });

  test('its process is killed in the middle, and it goes on', { timeout: 120_000 }, async () => {
    const item = await service.api.newUpload({ 'X-Max-Downloads': '1' }, randomBytes(40 * MIB));
    const name = token();
    const socket = await openSocket(service.api.baseUrl);
    socket.on('error', () => {}); // it is cut
    const head = { 'X-Auth-Token': item.authToken, 'X-Download-Lease': name };
    socket.write(requestHead(`GET /api/lease/${item.id}`, head));
    await new Promise((resolve) => socket.once('readable', resolve));
    const holders = service.running.processes.filter(({ name }) => name === 'files' || name === 'all');
    for (const one of holders) await one.stop('SIGKILL');
    for (const one of holders) one.restart();
    for (const one of holders) await untilReady(one); // a gateway may know them as well from just before
    for (const gateway of service.running.gateways) await untilHealthy(gateway);
    const whole = await lease(service.api, item, name);
    expect([whole.status, bytesOf(whole).equals(item.payload)]).toEqual([200, true]);
  });
});

describeEachShape('without leases', { DOWNLOAD_LEASE_SEC: '0' }, (service) => {
  test('their paths are none, config does not name them, and a download is as it was', async () => {
    const item = await service.api.newUpload();
    const answers = [lease, end, infoFor].map((ask) => ask(service.api, item, token()));
    for (const answer of await Promise.all(answers)) {
      expect([answer.status, answer.body]).toEqual([404, { error: 'Not Found' }]);
    }
    const config = await call('GET', `${service.api.baseUrl}/api/config`);
    expect(config.body).not.toHaveProperty('downloadLeases');
    expect((await service.api.download(item.id, item.authToken)).status).toBe(200);
  });
});
